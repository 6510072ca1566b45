// The messages that operators look for, each written by one function of `line`; `parseMessage` reads back those of
// calls.
import { isPlain, listText, oneLine, pathWord, quoted, quotedPattern, secondsText, word } from './text.ts';

/** What became of a pushed entry, counted. */
export interface PutCounts {
  inserted: number;
  updated: number;
  /** Set aside in the error timeseries. */
  rejected: number;
}

/** Counts of a stage, in the order in which they are shown; names of letters, digits and `_`. */
export type Counts = Readonly<Record<string, number>>;

const nothing = 'nothing to do';
const entryText = (key: string | null, writeTs: number | null): string =>
  `key = ${quoted(key)}, write_ts = ${Number.isFinite(writeTs) ? writeTs : null}`;
const plainName = (text: string): string => oneLine(text).replace(/[,:]/g, ';');
const countsText = (counts: Counts): string =>
  Object.entries(counts)
    .map(([name, count]) => `${name.replace(/\W/g, '_') || '_'} = ${count}`)
    .join(', ');

/** Makes `line.entryStored` of many entries of a user, which have few keys. */
export class EntriesStored {
  readonly #user: string;
  /** What stands before the time, by key. */
  readonly #beginnings = new Map<string, string>();
  #arePlain = true;

  constructor(user: string) {
    this.#user = word(user);
  }

  of(key: string, writeTs: number, result: 'inserted' | 'updated'): string {
    let beginning = this.#beginnings.get(key);
    if (beginning === undefined) {
      beginning = `Updated result for user = ${this.#user}, key = ${quoted(key)}, write_ts = `;
      this.#beginnings.set(key, beginning);
      this.#arePlain &&= isPlain(beginning);
    }
    return `${beginning}${Number.isFinite(writeTs) ? writeTs : null} = ${result}`;
  }

  /** True if each message so far is printable ASCII. */
  arePlain(): boolean {
    return this.#arePlain;
  }
}

const about = (user: string, text: string): string => `UUID ${word(user)}: ${text}`;

/**
 * Writes messages. Texts from outside may hold anything: they cannot leave their field. User is a UUID; times are
 * seconds since the epoch in full precision; durations are seconds. No builder takes a payload, a token or a
 * coordinate.
 */
export const line = {
  // -------------------------------------------------------------- the server

  /** INFO, from the server's own thread: every call before it that has no END was cut off. */
  serverStarted: (workers: number, address: string): string =>
    `Server started with workers = ${workers} on ${word(address)}`,
  /** INFO, from the server's own thread. */
  serverStopped: (): string => 'Server stopped',
  /** INFO, first line of a call. */
  startCall: (method: string, path: string): string => `START ${word(method)} ${pathWord(path)}`,
  /** INFO, such as `Called userCache.put` or `Called timeline.getTrips/2016-05-17`. */
  called: (handler: string): string => `Called ${pathWord(handler)}`,
  /** INFO */
  foundEmail: (email: string): string => `Found user email ${email}`,
  /** INFO */
  userUuid: (user: string): string => `user_uuid ${word(user)}`,
  /** DEBUG, one for each entry stored. */
  entryStored: (user: string, key: string, writeTs: number, result: 'inserted' | 'updated'): string =>
    new EntriesStored(user).of(key, writeTs, result),
  /** WARNING, one for each entry set aside; key and write_ts as far as they are known. */
  entryRejected: (user: string, key: string | null, writeTs: number | null, reason: string): string =>
    `Updated result for user = ${word(user)}, ${entryText(key, writeTs)} = rejected (${quoted(reason)})`,
  /** INFO, after the lines of the entries; replaces them if DEBUG lines are not written. */
  putStored: (user: string, { inserted, updated, rejected }: PutCounts): string =>
    `Stored entries of user = ${word(user)}, inserted = ${inserted}, updated = ${updated}, rejected = ${rejected}`,
  /** Just before END: INFO below 400, WARNING below 500, else ERROR. `code`: why it failed, one word. */
  answered: (status: number, method: string, path: string, code?: string | null): string =>
    `Answered ${status} ${word(method)} ${pathWord(path)}${code == null ? '' : ` ${word(code)}`}`,
  /** INFO, last line of a call. */
  endCall: (method: string, path: string, user: string | null, seconds: number): string =>
    `END ${word(method)} ${pathWord(path)}${user === null ? '' : ` ${word(user)}`} ${secondsText(seconds)}`,

  /** WARNING, from the server's own thread: calls of strangers beyond the limit, whose lines are left out. */
  strangersLeftOut: (calls: number, since: string): string =>
    `Refused calls not logged = ${calls} since ${word(since)}`,

  // -------------------------------------------------------------- both

  /** WARNING, written by the log itself as soon as it can write again. `since`: a timestamp. */
  linesDropped: (dropped: number, since: string, reason: string): string =>
    `Log lines dropped = ${dropped} since ${word(since)}: ${reason}`,
  /** WARNING, as soon as the server can write to standard output again. `since`: a timestamp. */
  outputDropped: (dropped: number, since: string, reason: string): string =>
    `Lines of standard output dropped = ${dropped} since ${word(since)}: ${reason}`,

  // -------------------------------------------------------------- the pipeline: each line names its user

  /** INFO, first line of a run. `what`: whom it is for, such as `1,200 users`. */
  runStarted: (what: string): string => `Pipeline run started for ${what}`,
  /** INFO, last line of a run. */
  runFinished: (counts: Counts, seconds: number): string =>
    `Pipeline run finished in ${secondsText(seconds)} s: ${countsText(counts) || nothing}`,
  /** INFO, at the start of a stage. */
  stage: (user: string, stage: string): string => `**********UUID ${word(user)}: ${plainName(stage)}**********`,
  /** INFO, at the end of a stage. */
  stageFinished: (user: string, stage: string, counts: Counts, seconds: number): string =>
    about(user, `finished ${plainName(stage)} in ${secondsText(seconds)} s: ${countsText(counts) || nothing}`),
  /** ERROR, when the run of a user gave up. */
  pipelineFailed: (user: string, error: string): string => about(user, `pipeline failed: ${error}`),
  /** WARNING, when conversion failed. `error`: its text, without anything of the payload. */
  entryFailed: (user: string, error: string, key: string, writeTs: number, reason: string): string =>
    about(user, `Got error ${error} while saving entry ${entryText(key, writeTs)} -> ${quoted(reason)}`),
  /** DEBUG, after `entryFailed`. */
  insertingError: (user: string, key: string, writeTs: number): string =>
    about(user, `Inserting entry ${entryText(key, writeTs)} into error timeseries`),
  /** INFO */
  binned: (user: string, bins: number, empty: number): string =>
    about(user, `After binning, we have ${bins} bins, of which ${empty} are empty`),
  /** DEBUG */
  addingTrips: (user: string, trips: number, day: string): string =>
    about(user, `Adding ${trips} trips for day ${word(day)}`),
  /** INFO; `result`: `inserted`, `updated` or `unchanged`. */
  documentUpdated: (user: string, key: string, result: string): string =>
    about(user, `Result = ${word(result)} after updating document ${quoted(key)}`),
  /** DEBUG: document keys that the user has, and those that may stay. */
  keyLists: (user: string, current: readonly string[], valid: readonly string[]): string =>
    about(user, `curr_key_list = ${listText(current)}, valid_key_list = ${listText(valid)}`),
  /** INFO */
  obsoleteKeys: (user: string, keys: readonly string[]): string => about(user, `obsolete keys are: ${listText(keys)}`),
  /** INFO; `result`: `removed`, or `missing` when it was gone already. */
  documentRemoved: (user: string, key: string, result: string): string =>
    about(user, `Result of removing document with key ${quoted(key)} is ${word(result)}`),
  /** Anything else about one user. */
  aboutUser: (user: string, text: string): string => about(user, text),
} as const;

// What `mobility logs` reads back, the commonest first. Each pattern needs one way only to match: no part of one can be
// read as a part of the next.
const formats = (
  [
    [
      'entryStored',
      'Updated result for user = ',
      `\\S+, key = (?:${quotedPattern}), write_ts = (?<write_ts>\\S+) = (?<result>inserted|updated|rejected) ?(?:\\(.*\\))?`,
    ],
    ['startCall', 'START ', '(?<method>\\S+) (?<path>\\S+)'],
    ['endCall', 'END ', '(?<method>\\S+) (?<path>\\S+)(?: (?<user_id>\\S+))? (?<seconds>\\d+\\.\\d+)'],
    ['answered', 'Answered ', '(?<status>\\d{3}) (?<method>\\S+) (?<path>\\S+)(?: (?<code>\\S+))?'],
    ['called', 'Called ', '(?<handler>\\S+)'],
    ['foundEmail', 'Found user email ', '(?<user_email>.*)'],
    ['userUuid', 'user_uuid ', '(?<user_id>\\S+)'],
    [
      'putStored',
      'Stored entries of user = ',
      '\\S+, inserted = (?<inserted>\\d+), updated = (?<updated>\\d+), rejected = (?<rejected>\\d+)',
    ],
    ['serverStarted', 'Server started with workers = ', '\\d+ on \\S+'],
    ['aboutUser', 'UUID ', '(?<user_id>\\S+): .*'],
    ['stage', '**********UUID ', '(?<user_id>\\S+): .*\\*{10}'],
  ] as const
).map(([kind, prefix, rest]) => ({
  kind,
  prefix,
  // Groups are matched without their names, which is faster.
  names: [...rest.matchAll(/\?<(\w+)>/g)].map(([, name]) => name!),
  rest: new RegExp(`^${rest.replace(/\?<\w+>/g, '')}$`),
}));

const numbers: ReadonlySet<string> = new Set(['write_ts', 'seconds', 'status', 'inserted', 'updated', 'rejected']);

/** The parts of a message, by the names that they have in a call; those that it lacks are left out. */
export interface Message extends Partial<PutCounts> {
  /** The name of the function of `line` that wrote it, or of one that writes the same form. */
  kind: (typeof formats)[number]['kind'];
  method?: string;
  path?: string;
  handler?: string;
  user_email?: string;
  user_id?: string;
  status?: number;
  code?: string;
  seconds?: number;
  result?: keyof PutCounts;
  write_ts?: number | null;
}

/** Takes a message apart; null for those that nobody reads back. */
export function parseMessage(message: string): Message | null {
  for (const { kind, prefix, names, rest } of formats) {
    if (!message.startsWith(prefix)) continue;
    const match = rest.exec(message.slice(prefix.length));
    if (match === null) continue;
    const parts: Record<string, unknown> = { kind };
    for (const [i, name] of names.entries()) {
      const text = match[i + 1];
      if (text !== undefined) parts[name] = !numbers.has(name) ? text : text === 'null' ? null : Number(text);
    }
    return parts as unknown as Message;
  }
  return null;
}
