// The messages that operators look for, each written by one function of `line` and read back by `parseMessage`.
import { listText, nullable, oneLine, pathWord, quoted, quotedPattern, secondsText, unquoted, word } from './text.ts';

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
const about = (user: string, text: string): string => `UUID ${word(user)}: ${text}`;

/**
 * Writes messages. Texts from outside may hold anything: they cannot leave their field. User is a UUID; times are seconds since
 * the epoch in full precision; durations are seconds. No builder takes a payload, a token or a coordinate.
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
    `Updated result for user = ${word(user)}, ${entryText(key, writeTs)} = ${result}`,
  /** WARNING, one for each entry set aside; key and write_ts as far as they are known. */
  entryRejected: (user: string, key: string | null, writeTs: number | null, reason: string): string =>
    `Updated result for user = ${word(user)}, ${entryText(key, writeTs)} = rejected (${quoted(reason)})`,
  /** INFO, after the lines of the entries; stands for them where DEBUG lines are not kept. */
  putStored: (user: string, { inserted, updated, rejected }: PutCounts): string =>
    `Stored entries of user = ${word(user)}, inserted = ${inserted}, updated = ${updated}, rejected = ${rejected}`,
  /** Just before END: INFO below 400, WARNING below 500, else ERROR. `code`: why it failed, one word. */
  answered: (status: number, method: string, path: string, code?: string | null): string =>
    `Answered ${status} ${word(method)} ${pathWord(path)}${code == null ? '' : ` ${word(code)}`}`,
  /** INFO, last line of a call. */
  endCall: (method: string, path: string, user: string | null, seconds: number): string =>
    `END ${word(method)} ${pathWord(path)}${user === null ? '' : ` ${word(user)}`} ${secondsText(seconds)}`,

  // -------------------------------------------------------------- both

  /** WARNING, written by the log itself as soon as it can write again. `since`: a timestamp. */
  linesDropped: (dropped: number, since: string, reason: string): string =>
    `Log lines dropped = ${dropped} since ${word(since)}: ${reason}`,

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

/** A message taken apart; `kind` is the name of the function of `line` that wrote it. */
export type Message =
  | { kind: 'serverStarted'; workers: number; address: string }
  | { kind: 'serverStopped' }
  | { kind: 'linesDropped'; dropped: number; since: string; reason: string }
  | { kind: 'startCall'; method: string; path: string }
  | { kind: 'called'; handler: string }
  | { kind: 'foundEmail'; email: string }
  | { kind: 'userUuid'; user: string }
  | { kind: 'entryStored'; user: string; key: string; write_ts: number; result: 'inserted' | 'updated' }
  | { kind: 'entryRejected'; user: string; key: string | null; write_ts: number | null; reason: string }
  | ({ kind: 'putStored'; user: string } & PutCounts)
  | { kind: 'answered'; status: number; method: string; path: string; code: string | null }
  | { kind: 'endCall'; method: string; path: string; user: string | null; seconds: number }
  | { kind: 'runStarted'; what: string }
  | { kind: 'runFinished'; counts: Counts; seconds: number }
  | ({ user: string } & UserMessage);

/** What the pipeline says about one user. */
export type UserMessage =
  | { kind: 'stage'; stage: string }
  | { kind: 'stageFinished'; stage: string; counts: Counts; seconds: number }
  | { kind: 'pipelineFailed'; error: string }
  | { kind: 'entryFailed'; error: string; key: string; write_ts: number; reason: string }
  | { kind: 'insertingError'; key: string; write_ts: number }
  | { kind: 'binned'; bins: number; empty: number }
  | { kind: 'addingTrips'; trips: number; day: string }
  | { kind: 'documentUpdated'; key: string; result: string }
  | { kind: 'keyLists'; current: string[]; valid: string[] }
  | { kind: 'obsoleteKeys'; keys: string[] }
  | { kind: 'documentRemoved'; key: string; result: string }
  | { kind: 'aboutUser'; text: string };

interface Format<Read> {
  /** Every message of this format begins so: most are told apart without a pattern. */
  prefix: string;
  pattern: RegExp;
  /** The parts, in order; a part that may be missing is undefined. */
  read: (...parts: string[]) => Read | null;
}

const number = String.raw`-?\d[\d.]*(?:e[+-]?\d+)?`;
const entry = `key = (${quotedPattern}), write_ts = (${number}|null)`;
const figures = `((?:\\w+ = ${number}(?:, )?)*|${nothing})`;
const list = String.raw`(\[(?:"(?:[^"\\]|\\.)*"(?:, )?)*\])`;

function format<Read>(prefix: string, rest: string, read: Format<Read>['read']): Format<Read> {
  return { prefix, pattern: new RegExp(`^${prefix}${rest}$`), read };
}

// The commonest first.
const formats: readonly Format<Message>[] = [
  format(
    'Updated result for user = ',
    `(\\S+), ${entry} = (inserted|updated|rejected \\((${quotedPattern})\\))`,
    readEntry,
  ),
  format('START ', '(\\S+) (\\S+)', (method, path) => ({ kind: 'startCall', method, path })),
  format('END ', '(\\S+) (\\S+)(?: (\\S+))? (\\d+\\.\\d+)', (method, path, user: string | undefined, seconds) => ({
    kind: 'endCall',
    method,
    path,
    user: user ?? null,
    seconds: Number(seconds),
  })),
  format('Answered ', '(\\d{3}) (\\S+) (\\S+)(?: (\\S+))?', (status, method, path, code: string | undefined) => ({
    kind: 'answered',
    status: Number(status),
    method,
    path,
    code: code ?? null,
  })),
  format('Called ', '(\\S+)', (handler) => ({ kind: 'called', handler })),
  format('Found user email ', '(.*)', (email) => ({ kind: 'foundEmail', email })),
  format('user_uuid ', '(\\S+)', (user) => ({ kind: 'userUuid', user })),
  format(
    'Stored entries of user = ',
    '(\\S+), inserted = (\\d+), updated = (\\d+), rejected = (\\d+)',
    (user, inserted, updated, rejected) => ({
      kind: 'putStored',
      user,
      inserted: Number(inserted),
      updated: Number(updated),
      rejected: Number(rejected),
    }),
  ),
  format('Server started with workers = ', '(\\d+) on (\\S+)', (workers, address) => ({
    kind: 'serverStarted',
    workers: Number(workers),
    address,
  })),
  format('Server stopped', '', () => ({ kind: 'serverStopped' })),
  format('Log lines dropped = ', '(\\d+) since (\\S+): (.*)', (dropped, since, reason) => ({
    kind: 'linesDropped',
    dropped: Number(dropped),
    since,
    reason,
  })),
  format('Pipeline run started for ', '(.*)', (what) => ({ kind: 'runStarted', what })),
  format('Pipeline run finished in ', `(${number}) s: ${figures}`, (seconds, counts) => ({
    kind: 'runFinished',
    counts: readCounts(counts),
    seconds: Number(seconds),
  })),
];

// What follows `UUID <user>: `.
const userFormats: readonly Format<UserMessage>[] = [
  format('finished ', `([^,:]*) in (${number}) s: ${figures}`, (stage, seconds, counts) => ({
    kind: 'stageFinished',
    stage,
    counts: readCounts(counts),
    seconds: Number(seconds),
  })),
  format('pipeline failed: ', '(.*)', (error) => ({ kind: 'pipelineFailed', error })),
  format('Got error ', `(.*) while saving entry ${entry} -> (${quotedPattern})`, (error, key, writeTs, reason) =>
    writeTs === 'null'
      ? null
      : { kind: 'entryFailed', error, key: unquoted(key), write_ts: Number(writeTs), reason: unquoted(reason) },
  ),
  format('Inserting entry ', `${entry} into error timeseries`, (key, writeTs) =>
    writeTs === 'null' ? null : { kind: 'insertingError', key: unquoted(key), write_ts: Number(writeTs) },
  ),
  format('After binning, we have ', '(\\d+) bins, of which (\\d+) are empty', (bins, empty) => ({
    kind: 'binned',
    bins: Number(bins),
    empty: Number(empty),
  })),
  format('Adding ', '(\\d+) trips for day (\\S+)', (trips, day) => ({
    kind: 'addingTrips',
    trips: Number(trips),
    day,
  })),
  format('Result = ', `(\\S+) after updating document (${quotedPattern})`, (result, key) => ({
    kind: 'documentUpdated',
    key: unquoted(key),
    result,
  })),
  format('curr_key_list = ', `${list}, valid_key_list = ${list}`, (current, valid) => ({
    kind: 'keyLists',
    current: JSON.parse(current) as string[],
    valid: JSON.parse(valid) as string[],
  })),
  format('obsolete keys are: ', list, (keys) => ({ kind: 'obsoleteKeys', keys: JSON.parse(keys) as string[] })),
  format('Result of removing document with key ', `(${quotedPattern}) is (\\S+)`, (key, result) => ({
    kind: 'documentRemoved',
    key: unquoted(key),
    result,
  })),
];

/** Takes a message apart; null when no function of `line` wrote it. */
export function parseMessage(message: string): Message | null {
  const known = readFormat(formats, message);
  if (known !== null) return known;
  const stage = /^\*{10}UUID (\S+): (.*)\*{10}$/.exec(message);
  if (stage !== null) return { kind: 'stage', user: stage[1]!, stage: stage[2]! };
  const about = /^UUID (\S+): (.*)$/.exec(message);
  if (about === null) return null;
  const [, user, text] = about as unknown as [string, string, string];
  return { user, ...(readFormat(userFormats, text) ?? { kind: 'aboutUser', text }) };
}

function readFormat<Read>(list: readonly Format<Read>[], text: string): Read | null {
  for (const { prefix, pattern, read } of list) {
    if (!text.startsWith(prefix)) continue;
    const match = pattern.exec(text);
    if (match === null) continue;
    try {
      return read(...match.slice(1));
    } catch {
      return null; // a field in quotes that is no JSON: somebody else's text
    }
  }
  return null;
}

function readEntry(
  user: string,
  key: string,
  writeTs: string,
  result: string,
  reason: string | undefined,
): Message | null {
  const found = { user, key: nullable(key), write_ts: writeTs === 'null' ? null : Number(writeTs) };
  if (reason !== undefined) return { kind: 'entryRejected', ...found, reason: unquoted(reason) };
  if (found.key === null || found.write_ts === null) return null;
  return {
    kind: 'entryStored',
    user,
    key: found.key,
    write_ts: found.write_ts,
    result: result as 'inserted' | 'updated',
  };
}

function readCounts(text: string): Counts {
  return Object.fromEntries(Array.from(text.matchAll(/(\w+) = ([^,]+)/g), ([, name, count]) => [name!, Number(count)]));
}
