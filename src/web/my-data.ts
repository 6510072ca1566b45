import { correctedTrips } from '../diary/corrections/corrected-trips.ts';
import { readStatus } from '../diary/status/all-statuses.ts';
import type { PersonStatus } from '../diary/status/person-status.ts';
import type { Writer } from '../export/columns.ts';
import { entryLists, tripsGeoJson } from '../export/entry-rows.ts';
import { type ExportFile, exportTables } from '../export/export-tables.ts';
import { streamOf } from '../export/zip-stream.ts';
import { appOfToken } from '../model/apps.ts';
import type { JsonValue } from '../model/json.ts';
import { jsonText } from '../model/json-text.ts';
import { keys } from '../model/keys.ts';
import { isForPages, refusalOf, shownName, stoppedSince, type TokenRecord, tokenId } from '../model/user.ts';
import { mePage } from './me-days.ts';
import { importSection } from './my-imports.ts';
import { factList, type MarkupValue, markup, optionList } from './pages/markup.ts';
import { ownValue, type Texts } from './pages/texts/texts.ts';
import type { PersonCall, WebAnswer } from './web.ts';
import { banner, csvType, faultPage, fileAnswer, formButton, formOf, isShownDay, redirect } from './web.ts';

const kindOf: Readonly<Record<string, keyof Texts['mine']['kind']>> = {
  [keys.location]: 'location',
  [keys.filteredLocation]: 'location',
  [keys.motionActivity]: 'motion',
  [keys.activity]: 'motion',
  [keys.transition]: 'transition',
  [keys.battery]: 'battery',
};

export async function showData(call: PersonCall): Promise<WebAnswer> {
  const { t, store, user, query, now, session } = call;
  const words = t.mine;
  const status = await readStatus(store, user, { now });
  const [counts, series, profile, tokens, latest] = await Promise.all([
    store.counts(user.uuid),
    store.timeseries.summary(user.uuid),
    store.profiles.get(user.uuid),
    store.tokens.list(user.uuid),
    correctedTrips(store).previous(user.uuid, Number.MAX_VALUE),
  ]);
  const date = (ts: number): string => t.date(ts, latest?.trip?.end_zone ?? call.zone);
  const total = counts.timeseries + counts.usercache;
  const firsts = series.flatMap(({ first_ts }) => first_ts ?? []);
  const lasts = series.flatMap(({ last_ts }) => last_ts ?? []);
  let records = total === 0 ? words.none : t.entries(total);
  if (firsts.length > 0)
    records = words.recordsText(t.entries(total), date(Math.min(...firsts)), date(Math.max(...lasts)));
  const kinds = new Map<string, number>();
  for (const { key, count } of series) {
    const kind = ownValue(kindOf, key);
    const name = kind === undefined ? words.otherKind : words.kind[kind];
    kinds.set(name, (kinds.get(name) ?? 0) + count);
  }
  const isStopped = stoppedSince(tokens, now) !== null;
  const valid = tokens.filter((token) => refusalOf(token, now) === null);
  const sessions = valid.filter(({ kind }) => kind === 'session');
  const hasOthers = sessions.length > 1 || valid.some(({ kind }) => kind === 'link');
  const browsers = sessions.map(({ hash, created_ts }) => {
    return markup`<li>${hash === session.hash ? words.thisBrowser : words.browser(date(created_ts))}</li>`;
  });
  const asked = typeof profile?.erasure_asked_ts === 'number' ? profile.erasure_asked_ts : null;
  const done =
    query.done === 'word'
      ? banner(`${t.error} ${words.eraseWrong(words.eraseWord)}`, 'bad')
      : banner(ownValue(words.done, query.done));
  const mostFirst = [...kinds].sort(([, a], [, b]) => b - a);
  const counted = mostFirst.map(([name, count]) => markup`${t.number(count)} ${name}<br>`);
  const facts: [string, MarkupValue | undefined][] = [
    [words.account, shownName(user.user_email)],
    [words.study, user.study],
    [words.joined, date(status.chain.joined.ts ?? status.chain.registered.ts ?? now)],
    [words.records, records],
    [words.kinds, counted.length > 0 ? counted : undefined],
    [words.aside, counts.errors || undefined],
    [words.trips, counts.trips],
  ];
  const body = markup`${done}<h1>${t.me.data}</h1><p class="lead">${words.lead}</p>
<section><h2>${words.stored}</h2>${factList(facts.filter(([, value]) => value !== undefined))}</section>
<section><h2>${words.phone}</h2><p>${phoneText(status, call)}</p>${devices(call, valid, status.chain.called.ts)}</section>
<section id="download"><h2>${words.download}</h2><p>${words.downloadText}</p>${downloadForm(call)}<p><a href="/me/data/records.jsonl">${words.downloadRecords}</a></p></section>
${await importSection(call)}
<section><h2>${words.browsers}</h2><ul>${browsers}</ul>${hasOthers && formButton(call, '/me/sign-out-others', words.signOutOthers)}</section>
<section><h2>${words.stop}</h2>${isStopped ? markup`<p>${words.isStopped}</p>` : markup`<p>${words.stopText}</p>${formButton(call, '/me/stop', words.stop)}`}</section>
<section><h2>${words.erase}</h2>${asked === null ? eraseForm(call) : markup`<p class="note">${words.eraseAsked(date(asked))}</p>${formButton(call, '/me/keep', words.eraseUndo)}`}</section>`;
  return mePage(call, t.me.data, 'data', markup`<div class="narrow">${body}</div>`);
}

function phoneText({ broken, chain }: PersonStatus, { t, now, zone }: PersonCall): string {
  if (broken !== null) return t.mine.phoneWords[broken.code] ?? t.mine.phoneOther;
  return chain.called.ts === null ? t.mine.phoneNever : t.mine.phoneFine(t.lately(chain.called.ts, now, zone));
}

function devices(call: PersonCall, valid: readonly TokenRecord[], called: number | null): MarkupValue {
  const { t, now, zone } = call;
  const words = t.mine;
  // The store keeps the last use of a token to the hour. A call in this hour has a more exact time.
  const exactly = (used: number): number => (called !== null && called - used < 3600 ? Math.max(called, used) : used);
  const items = valid
    .filter((token) => !isForPages(token))
    .map(({ kind, created_ts, used_ts, hash }) => {
      const name = kind === 'made' || kind === 'imported' ? words.program : (appOfToken(kind)?.name ?? 'e-mission');
      const last = used_ts === undefined ? words.noContact : words.lastContact(t.lately(exactly(used_ts), now, zone));
      const block = markup`<p>${words.lostText}</p><button class="danger">${words.lostDo}</button>`;
      const lost = formOf(call, '/me/lost', { token: tokenId(hash) }, block);
      return markup`<li class="stated"><span>${words.device(name, t.date(created_ts, zone))} ${last}</span><details><summary><span>${words.lost}<span class="vh">: ${name}</span></span></summary>${lost}</details></li>`;
    });
  return items.length > 0 && markup`<h3>${words.devices}</h3><ul>${items}</ul>`;
}

const downloads = {
  csv: { table: 'trips', type: csvType },
  gpx: { table: 'points', type: 'application/gpx+xml' },
  geojson: { table: 'trips', type: 'application/geo+json' },
} as const;
type Download = keyof typeof downloads;

function downloadForm({ t }: PersonCall): MarkupValue {
  const words = t.mine;
  const formats = Object.keys(downloads).map((value) => ({ value, words: words.formats[value as Download] }));
  const date = (name: string, label: string): MarkupValue =>
    markup`<label><span>${label}</span><input type="date" name="${name}"></label>`;
  return markup`<form action="/me/data/download">${date('from', words.from)}${date('to', words.to)}<label><span>${words.format}</span><select name="format">${optionList(formats)}</select></label><button class="go">${words.downloadDo}</button></form>`;
}

/** An empty field of the form sets no bound. */
export async function sendDays({ t, cookies, query, store, user, now }: PersonCall): Promise<WebAnswer> {
  const format = query.format as Download;
  const [from, to] = [query.from || undefined, query.to || undefined];
  if (!Object.hasOwn(downloads, format) || ![from, to].every((day) => day === undefined || isShownDay(day)))
    return faultPage(400, { t, cookies });
  const days = { ...(from && { from }), ...(to && { to }) };
  const { table, type } = downloads[format];
  async function* people() {
    yield user;
  }
  const tables = (writer: Writer) => {
    const file: ExportFile = async (path, fill) => (path === `${table}.${format}` ? fill(writer) : undefined);
    return exportTables({ store, people, kinds: [table], format, days, now, file });
  };
  const body = format === 'geojson' ? tripsGeoJson(store, user.uuid, days, () => {}) : streamOf(tables);
  const name = [table, ...new Set([from, to])].filter(Boolean).join('-');
  return fileAnswer(body, `${name}.${format}`, type);
}

function eraseForm(call: PersonCall): MarkupValue {
  const words = call.t.mine;
  const content = markup`<label><span>${words.eraseType(words.eraseWord)}</span><input name="word" autocomplete="off" autocapitalize="none" required></label><button class="danger">${words.eraseDo}</button>`;
  return markup`<p>${words.eraseText}</p>${formOf(call, '/me/erase', {}, content)}`;
}

export const sendRecords = async ({ store, user }: PersonCall): Promise<WebAnswer> =>
  fileAnswer(lines(entryLists(store, user.uuid, {})), 'records.jsonl', 'application/x-ndjson');

async function* lines(lists: AsyncIterable<readonly object[]>): AsyncGenerator<string> {
  let text = '';
  for await (const rows of lists) {
    for (const row of rows) {
      text += `${jsonText(row as JsonValue)}\n`;
      if (text.length < 64 * 1024) continue;
      yield text;
      text = '';
    }
  }
  yield text;
}

async function revoke(call: PersonCall, why: 'stopped' | 'revoked', isRevoked: (token: TokenRecord) => boolean) {
  const { store, user, now } = call;
  for (const token of await store.tokens.list(user.uuid))
    if (isRevoked(token)) await store.tokens.revoke(user.uuid, token.hash, { ts: now, why });
}

export async function losePhone(call: PersonCall): Promise<WebAnswer> {
  await revoke(call, 'revoked', (token) => !isForPages(token) && tokenId(token.hash) === call.form.token);
  call.log.write('WARNING', `user ${call.user.uuid} lost a phone`);
  return redirect('/me/data?done=lost');
}

export async function signOutOthers(call: PersonCall): Promise<WebAnswer> {
  await revoke(call, 'revoked', (token) => isForPages(token) && token.hash !== call.session.hash);
  return redirect('/me/data?done=others');
}

export async function stopRecording(call: PersonCall): Promise<WebAnswer> {
  await revoke(call, 'stopped', (token) => !isForPages(token));
  call.log.write('WARNING', `user ${call.user.uuid} stopped recording on their page`);
  return redirect('/me/data?done=stopped');
}

export async function askErasure({ t, form, store, user, now, log }: PersonCall): Promise<WebAnswer> {
  if ((form.word ?? '').trim().toLowerCase() !== t.mine.eraseWord) return redirect('/me/data?done=word');
  await store.profiles.merge(user.uuid, { erasure_asked_ts: now });
  log.write('WARNING', `user ${user.uuid} asks to be erased: mobility erase --user ${user.uuid}`);
  return redirect('/me/data');
}

export async function keepData({ store, user, log }: PersonCall): Promise<WebAnswer> {
  await store.profiles.merge(user.uuid, { erasure_asked_ts: null });
  log.write('WARNING', `user ${user.uuid} withdraws the request for erasure`);
  return redirect('/me/data?done=kept');
}
