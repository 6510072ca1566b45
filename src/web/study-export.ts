// Sends the tables of a study as a ZIP archive, and leaves no file of it on the disk.
import type { StudyRecord } from '../model/study.ts';
import { addDays, localDay } from '../model/time.ts';
import { type MarkupValue, markup, optionList } from './pages/markup.ts';
import { ownValue } from './pages/texts/texts.ts';
import { newSecret } from './sessions.ts';
import { studyPage } from './study-pages.ts';
import { readPeople, type StudyPerson } from './study-people.ts';
import type { FormFields, StudyCall, WebAnswer } from './web.ts';
import { banner, faultPage, fileAnswer, formOf, isShownDay, redirect } from './web.ts';

const mostPersonDays = 2000; // days times people in an archive; their export takes a few minutes
const usualDays = 30;
const cellSizes = ['250', '500', '1000']; // m; the cells hide exact places

/** `coarse`: m, size of the cells; null: exact places. */
type Asked = { from: string; to: string; coarse: number | null; hasNames: boolean };

function askedIn(fields: FormFields, { study, now }: StudyCall): Asked | null {
  const yesterday = addDays(localDay(now, 'UTC'), -1);
  const { from = addDays(yesterday, 1 - usualDays), to = yesterday, coarse = '', names } = fields;
  if (!isShownDay(from) || !isShownDay(to) || from > to) return null;
  if (coarse !== '' && !cellSizes.includes(coarse)) return null; // an unknown size must not mean exact places
  const hasNames = names === 'yes' && study.show_names === true;
  return { from, to, coarse: coarse === '' ? null : Number(coarse), hasNames };
}

const senders = async ({ store, study, now }: StudyCall): Promise<StudyPerson[]> =>
  (await readPeople(store, study, now)).filter(({ chain }) => chain.stored.ts !== null);

const countDays = ({ from, to }: Asked): number => (Date.parse(to) - Date.parse(from)) / 86_400_000 + 1;

export async function showExport(call: StudyCall): Promise<WebAnswer> {
  const { t, study, query, manager } = call;
  if (manager.may_export !== true) return faultPage(404, call);
  const words = t.exports;
  const asked = askedIn(query, call) ?? askedIn({}, call)!;
  const people = (await senders(call)).length;
  const days = people * countDays(asked);
  const date = (name: 'from' | 'to'): MarkupValue =>
    markup`<label><span>${t.mine[name]}</span><input type="date" name="${name}" required value="${asked[name]}"></label>`;
  const sizes = cellSizes.map((value) => ({ value, words: words.cells(t.roundLength(Number(value))) }));
  const cells = optionList([{ value: '', words: words.exact }, ...sizes], String(asked.coarse ?? ''));
  const names =
    study.show_names === true &&
    markup`<label><input type="checkbox" name="names" value="yes"> <span>${words.names}</span></label>`;
  const fields = markup`${date('from')}${date('to')}<label><span>${words.places}</span><select name="coarse">${cells}</select></label>${names}<button class="go">${words.go}</button>`;
  const form = formOf(call, `/study/${study.name}/export.zip`, {}, fields);
  const coarse = asked.coarse === null ? '' : ` --coarse ${asked.coarse}m`;
  const command = `mobility export --study ${study.name} --from ${asked.from} --to ${asked.to} --format csv --pseudonyms key.txt${coarse} --out ${study.name}`;
  const messages: Record<string, MarkupValue> = {
    large: markup`${banner(words.large(t.number(days), t.number(mostPersonDays)), 'bad')}<p><code>${command}</code></p>`,
    busy: banner(words.busy, 'bad'),
    range: banner(words.range, 'bad'),
  };
  const body = markup`<div class="narrow"><h1>${words.title}</h1>${ownValue(messages, query.done)}
<p>${words.lead}</p>${query.done !== 'large' && markup`<p class="soft">${words.size(t.people(people), t.days(countDays(asked)))}</p>`}${form}<p class="small soft">${words.protection}</p></div>`;
  return studyPage(call, words.title, body, 'export');
}

export async function sendExport(call: StudyCall): Promise<WebAnswer> {
  const { study, form, manager, note, claim } = call;
  if (manager.may_export !== true) return faultPage(404, call);
  const back = (done: string): WebAnswer => {
    const { from = '', to = '', coarse = '' } = form;
    return redirect(`/study/${study.name}/export?${new URLSearchParams({ from, to, coarse, done })}`);
  };
  const asked = askedIn(form, call);
  if (asked === null) return back('range');
  const people = await senders(call);
  if (people.length * countDays(asked) > mostPersonDays) return back('large');
  const lock = claim('export');
  if (lock === null) return back('busy');
  try {
    const { coarse, hasNames, ...days } = asked;
    const treatment = `${hasNames ? 'with names' : 'under pseudonyms'}, ${coarse === null ? 'exact' : `cells of ${coarse} m`}`;
    await note(`export ${days.from} to ${days.to}, ${treatment}`, people);
    const pseudonymKey = await exportKey(call);
    const uuids = people.map(({ user }) => user.uuid);
    const shown = { ...(!hasNames && { pseudonymKey }), ...(coarse !== null && { coarse }) };
    const body = thenRelease(call.makeArchive({ people: uuids, ...days, now: call.now, ...shown }), lock);
    return fileAnswer(body, `${study.name}-${days.from}-${days.to}.zip`, 'application/zip');
  } catch (error) {
    lock.release();
    throw error;
  }
}

async function* thenRelease(bytes: AsyncIterable<Uint8Array>, lock: { release(): void }): AsyncGenerator<Uint8Array> {
  try {
    yield* bytes;
  } finally {
    lock.release();
  }
}

/** The first export makes the secret, so that later exports have the same pseudonyms. */
async function exportKey({ store, study }: StudyCall): Promise<string> {
  if (study.export_key !== undefined) return study.export_key;
  const { joins: _, ...settings }: StudyRecord = study;
  const export_key = newSecret();
  await store.studies.put({ ...settings, export_key });
  return export_key;
}
