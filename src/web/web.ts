// What a page of the server is: a route, who may call it, and what it answers. HTTP is the server's part.

import type { Log } from '../log/log.ts';
import type { PutCounts } from '../log/messages.ts';
import type { Entry } from '../model/entry.ts';
import type { ManagerRecord } from '../model/manager.ts';
import type { StudyRecord } from '../model/study.ts';
import { isDay } from '../model/time.ts';
import type { TokenRecord, UserRecord } from '../model/user.ts';
import type { Store } from '../store/store.ts';
import { type Markup, type MarkupValue, markup } from './pages/markup.ts';
import { shell } from './pages/shell.ts';
import type { Texts } from './pages/texts/texts.ts';
import type { Tiles } from './pmtiles.ts';
import type { SignInLimits } from './sign-in-limits.ts';
import type { Fortnights } from './study-people.ts';

/** A call of a page. */
export interface WebCall {
  /** Parts of the path, the query, and the fields of a form; of a name that occurs twice the first value. */
  params: Readonly<Record<string, string>>;
  query: Readonly<Record<string, string>>;
  form: Readonly<Record<string, string>>;
  /** The words for this reader. */
  t: Texts;
  store: Store;
  /** Stores entries of a person within their limits: the only way to store any. */
  put: (user: UserRecord, entries: readonly Entry[]) => Promise<PutCounts>;
  log: Log;
  /** Seconds since the epoch. */
  now: number;
  /** Address of the server as its callers see it, without a slash at the end. */
  address: string;
  /** True: the browser came by https. */
  isSecure: boolean;
  /** The cookies of this server, by name. */
  cookies: ReadonlyMap<string, string>;
  /** The network of the caller; null: not known. */
  origin: string | null;
  limits: SignInLimits;
  /** The N of scrypt for passwords. Default: 2^15. */
  passwordCost: number | undefined;
  fortnights: Fortnights;
  /** The zone of the server, for times that belong to no person. */
  zone: string;
  /** Tiles behind maps; null: there are none. */
  tiles: Tiles | null;
  /** Notes in the audit log what somebody did to data of people, who are named by their `audit_key`. */
  audit: (who: string, action: string, people: readonly string[]) => Promise<void>;
  /** Of the program; null: not known. */
  version: string | null;
  /** When the last backup was made; null: never, or not known. */
  lastBackup: () => Promise<number | null>;
}

/** What forms of a session carry, so that no page of somebody else can send them. */
interface Signed {
  csrf: string;
}

/** A call of somebody who takes part. */
export interface PersonCall extends WebCall, Signed {
  user: UserRecord;
  session: TokenRecord;
}

/** A call of a manager. */
export interface ManagerCall extends WebCall, Signed {
  manager: ManagerRecord;
  /** Notes in the audit log what the manager did. */
  note: (action: string, people: readonly string[]) => Promise<void>;
}

/** A call of a manager about a study of theirs. */
export interface StudyCall extends ManagerCall {
  study: StudyRecord;
}

/** The answer of a page. */
export interface WebAnswer {
  status: number;
  body: Markup | string | Uint8Array | AsyncIterable<string>;
  headers?: Readonly<Record<string, string>>;
}

/** A page, or what a form of it does. A POST changes something, a GET never does. */
export type WebRoute = { method: 'GET' | 'POST'; path: string } & (
  | { who: 'anybody'; answer(call: WebCall): Promise<WebAnswer> }
  | { who: 'person'; answer(call: PersonCall): Promise<WebAnswer> }
  | { who: 'manager'; answer(call: ManagerCall): Promise<WebAnswer> }
  | { who: 'operator'; answer(call: ManagerCall): Promise<WebAnswer> }
  /** The path names the study as `:study`. */
  | { who: 'study'; answer(call: StudyCall): Promise<WebAnswer> }
);

/** A page as an answer. */
export const answerOf = (body: Markup, status = 200): WebAnswer => ({ status, body });

/** Sends the browser to another page of this server. */
export const redirect = (to: string, headers: Readonly<Record<string, string>> = {}): WebAnswer => ({
  status: 303,
  body: '',
  headers: { ...headers, Location: to },
});

/** The page of a call that failed. `id`: the request, for the operator; absent: it does not help. */
export function faultPage(status: number, t: Texts, id?: string): WebAnswer {
  const { title, text } = t.faults[status] ?? t.faults[status >= 500 ? 500 : 400]!;
  const number = id !== undefined && status >= 500 && markup`<p class="soft small">${t.request(id)}</p>`;
  const body = markup`<h1>${title}</h1><p class="lead">${text}</p>${number}<p><a class="btn" href="/">${t.toStart}</a></p>`;
  return answerOf(shell({ t, title, isNarrow: true, body }), status);
}

/** True for a day that pages show: their weeks reach neither the first nor the last year that a date can have. */
export const isShownDay = (day: string): boolean => isDay(day) && day > '0001-12-31' && day < '9999-01-01';

/** A form of a session: what it carries beside `content` is hidden. */
export function formOf(
  { csrf }: Signed,
  action: string,
  fields: Readonly<Record<string, string | number>>,
  content: MarkupValue,
): Markup {
  const hidden = Object.entries({ csrf, ...fields }).map(
    ([name, value]) => markup`<input type="hidden" name="${name}" value="${value}">`,
  );
  return markup`<form method="post" action="${action}">${hidden}${content}</form>`;
}

/** The form of one button. */
export const formButton = (
  call: Signed,
  action: string,
  words: string,
  fields: Readonly<Record<string, string | number>> = {},
): Markup => formOf(call, action, fields, markup`<button>${words}</button>`);

/** What was done, or what went wrong; nothing without words. */
export const banner = (words: string | undefined, kind: 'quiet' | 'bad' = 'quiet'): MarkupValue =>
  words !== undefined && markup`<p class="note ${kind}" role="${kind === 'bad' ? 'alert' : 'status'}">${words}</p>`;

/** Names with what they stand for. */
export const factList = (facts: readonly (readonly [name: string, value: MarkupValue])[]): Markup =>
  markup`<dl class="facts">${facts.map(([name, value]) => markup`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
