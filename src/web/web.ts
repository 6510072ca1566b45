import type { ArchiveRequest } from '../export/study-archive.ts';
import type { CheckedEntry } from '../intake/check-entry.ts';
import type { Log } from '../log/log.ts';
import type { PutCounts } from '../log/messages.ts';
import type { Entry } from '../model/entry.ts';
import type { ManagerRecord } from '../model/manager.ts';
import type { StudyRecord } from '../model/study.ts';
import { isDay } from '../model/time.ts';
import type { TokenRecord, UserRecord } from '../model/user.ts';
import type { PersonFigures, Store } from '../store/store.ts';
import type { Check } from '../upkeep/check-installation.ts';
import type { ImportTurns } from './import-turns.ts';
import { Markup, type MarkupValue, markup } from './pages/markup.ts';
import { type Shell, shell } from './pages/shell.ts';
import type { Texts } from './pages/texts/texts.ts';
import type { Tiles } from './pmtiles.ts';
import type { SignInLimits } from './sign-in-limits.ts';
import type { FigureCache } from './study-people.ts';

export type FormFields = Readonly<Record<string, string>>;

export type Upload = { form: FormFields; file: { name: string; bytes: Uint8Array } | null };

export interface WebCall {
  params: FormFields; // the parts of the path
  /** Of fields with the same name, the first counts. */
  query: FormFields;
  form: FormFields;
  t: Texts;
  preferred: readonly string[]; // the languages of the reader, the best first
  store: Store;
  /** Stores entries within the limits of puts. Pages must not store entries otherwise. */
  put: (
    user: UserRecord,
    checked: readonly CheckedEntry[],
    options?: { receipts: ReadonlyMap<Entry, number>; sentWith: string },
  ) => Promise<PutCounts>;
  readUpload: () => Promise<Upload>;
  file: Upload['file'];
  log: Log;
  now: number; // seconds since the epoch
  address: string; // address of the server for its callers, without a slash at the end
  isSecure: boolean;
  cookies: ReadonlyMap<string, string>;
  origin: string | null; // the network of the caller; null: not known
  limits: SignInLimits;
  turns: ImportTurns;
  passwordCost?: number | undefined; // the parameter N of scrypt for passwords of managers
  cache: FigureCache;
  /** Claims work that only one call may do at a time. Returns null if another call does it. */
  claim: (work: 'export' | 'import') => { release(): void } | null;
  /** `mobility serve` makes the archive in a separate process of low priority. */
  makeArchive: (request: ArchiveRequest) => AsyncIterable<Uint8Array>;
  zone: string; // the time zone of the server, for times that belong to no person
  tiles: Tiles | null;
  /** Writes to the audit log. `people`: the `audit_key` of each person. */
  audit: (who: string, action: string, people: readonly string[]) => Promise<void>;
  version: string | null;
  /** Checks the installation as `mobility doctor` does, for the page of the operator. */
  checks: () => Promise<Check[]>;
}

type FormSecret = { csrf: string };

export type PersonCall = WebCall & FormSecret & { user: UserRecord; session: TokenRecord };

export interface ManagerCall extends WebCall, FormSecret {
  manager: ManagerRecord;
  note: (action: string, people: readonly { figures: Pick<PersonFigures, 'audit_key'> }[]) => Promise<void>;
}

export type StudyCall = ManagerCall & { study: StudyRecord };

export interface WebAnswer {
  status: number;
  body: Markup | string | Uint8Array | AsyncIterable<string | Uint8Array>;
  headers?: Readonly<Record<string, string>>;
}

/** A POST changes something, a GET never does. */
export type WebRoute = { method: 'GET' | 'POST'; path: string; takesFile?: true } & (
  | { who: 'anybody'; answer(call: WebCall): Promise<WebAnswer> | WebAnswer }
  | { who: 'person'; answer(call: PersonCall): Promise<WebAnswer> | WebAnswer }
  | { who: 'manager' | 'operator'; answer(call: ManagerCall): Promise<WebAnswer> | WebAnswer }
  | { who: 'study'; answer(call: StudyCall): Promise<WebAnswer> | WebAnswer }
);

export const answerOf = (body: Markup, status = 200): WebAnswer => ({ status, body });

export const redirect = (to: string, headers: Readonly<Record<string, string>> = {}): WebAnswer => {
  return { status: 303, body: '', headers: { ...headers, Location: to } };
};

export const csvType = 'text/csv; charset=utf-8';

export const fileAnswer = (body: WebAnswer['body'], name: string, type: string): WebAnswer => ({
  status: 200,
  body,
  headers: { 'Content-Type': type, 'Content-Disposition': `attachment; filename="${name}"` },
});

export const cookieNames = { person: 'mobility-days', manager: 'mobility-study' };

const mePages = { days: '/me', month: '/me/month', data: '/me/data' } as const;

export type MePage = keyof typeof mePages;

export const meLinks = (t: Texts, current?: MePage): NonNullable<Shell['links']> =>
  Object.entries(mePages).map(([name, href]) => {
    return { href, words: t.me[name as MePage], isCurrent: name === current };
  });

/**
 * `id`: number of the request, for the operator. `wait`: s until the next try, for status 429.
 * `frame`: the head and foot; default: links for a reader who has signed in.
 */
export function faultPage(
  status: number,
  call: Pick<WebCall, 't' | 'cookies'>,
  { id, wait = 0, frame }: { id?: string; wait?: number; frame?: Partial<Shell> } = {},
): WebAnswer {
  const { t } = call;
  // The sessions of the cookies may have ended: then the links lead to the sign-in.
  const has = (name: string): boolean => call.cookies.has(name) || call.cookies.has(`__Host-${name}`);
  const links = has(cookieNames.person) ? [...meLinks(t)] : [];
  if (has(cookieNames.manager)) links.push({ href: '/study', words: t.study.studies });
  const { title, text } = t.faults[status] ?? t.faults[status >= 500 ? 500 : 400]!;
  const again = status === 429 && ` ${t.tryAgain(Math.ceil(wait / 60))}`;
  const number = id !== undefined && status >= 500 && markup`<p class="soft small">${t.request(id)}</p>`;
  const body = markup`<h1>${title}</h1><p class="lead">${text}${again}</p>${number}<p><a class="btn" href="/">${t.toStart}</a></p>`;
  const headers: WebAnswer['headers'] = wait > 0 ? { 'Retry-After': String(Math.ceil(wait)) } : {};
  return { status, body: shell({ t, title, links, ...frame, isNarrow: true, query: null, body }), headers };
}

/** True for the years 2 to 9998: neighbouring days on a page must be in the years 1 to 9999. */
export const isShownDay = (day: string): boolean => isDay(day) && day > '0001-12-31' && day < '9999-01-01';

type Hidden = Readonly<Record<string, string | number>>;

export function formOf(
  call: FormSecret,
  action: string,
  fields: Hidden,
  content: MarkupValue,
  hasFile = false,
): Markup {
  const hidden = Object.entries({ csrf: call.csrf, ...fields }).map(
    ([name, value]) => markup`<input type="hidden" name="${name}" value="${value}">`,
  );
  const type = hasFile && new Markup(' enctype="multipart/form-data"');
  return markup`<form method="post" action="${action}"${type}>${hidden}${content}</form>`;
}

export const formButton = (call: FormSecret, action: string, words: string, fields: Hidden = {}): Markup =>
  formOf(call, action, fields, markup`<button>${words}</button>`);

export const banner = (words: string | undefined, kind: 'quiet' | 'bad' = 'quiet'): MarkupValue =>
  words !== undefined && markup`<p class="note ${kind}" role="${kind === 'bad' ? 'alert' : 'status'}">${words}</p>`;
