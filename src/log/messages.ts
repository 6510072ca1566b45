// The messages that operators look for, each written by one function of `line` and read back by `parseMessage`.
import { listText, oneLine, pathWord, quoted, quotedPattern, secondsText, unquoted, word } from './text.ts';

/** What became of a pushed entry, counted. */
export interface PutCounts {
  inserted: number;
  updated: number;
  /** Set aside in the error timeseries. */
  rejected: number;
}

/** Counts of a stage, in the order in which they are shown; names of letters, digits and `_`. */
export type Counts = Readonly<Record<string, number>>;

const entryText = (key: string | null, writeTs: number | null): string =>
  `key = ${quoted(key)}, write_ts = ${Number.isFinite(writeTs) ? writeTs : null}`;
const plainName = (text: string): string => oneLine(text).replace(/[,:]/g, ';');
const countsText = (counts: Counts): string =>
  Object.entries(counts)
    .map(([name, count]) => `, ${name.replace(/\W/g, '_') || '_'} = ${count}`)
    .join('');

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

  // -------------------------------------------------------------- the pipeline

  /** INFO, first line of a run. `what`: whom it is for, such as `1,200 users`. */
  runStarted: (what: string): string => `Pipeline run started for ${oneLine(what)}`,
  /** INFO, last line of a run. */
  runFinished: (counts: Counts, seconds: number): string =>
    `Pipeline run finished${countsText(counts)}, seconds = ${secondsText(seconds)}`,
  /** INFO, at the start of a stage: what follows in this thread is about this user. */
  stage: (user: string, stage: string): string => `**********UUID ${word(user)}: ${plainName(stage)}**********`,
  /** INFO, at the end of a stage. */
  stageFinished: (user: string, stage: string, counts: Counts, seconds: number): string =>
    `UUID ${word(user)}: finished ${plainName(stage)}${countsText(counts)}, seconds = ${secondsText(seconds)}`,
  /** ERROR, when a stage gave up, and the user's run with it. */
  stageFailed: (user: string, stage: string, error: string): string =>
    `UUID ${word(user)}: failed ${plainName(stage)}: ${error}`,
  /** INFO, when the user was left alone: `another run works on this user until …`. */
  userSkipped: (user: string, reason: string): string => `UUID ${word(user)}: skipped: ${reason}`,
  /** WARNING, when conversion failed. `error`: its text, without anything of the payload. */
  entryFailed: (error: string, key: string, writeTs: number, reason: string): string =>
    `Got error ${error} while saving entry ${entryText(key, writeTs)} -> ${quoted(reason)}`,
  /** DEBUG, after `entryFailed`. */
  insertingError: (key: string, writeTs: number): string =>
    `Inserting entry ${entryText(key, writeTs)} into error timeseries`,
  /** DEBUG */
  binned: (bins: number, empty: number): string => `After binning, we have ${bins} bins, of which ${empty} are empty`,
  /** DEBUG */
  addingTrips: (trips: number, day: string): string => `Adding ${trips} trips for day ${word(day)}`,
  /** DEBUG; `result`: `inserted`, `updated` or `unchanged`. */
  documentUpdated: (key: string, result: string): string =>
    `Result = ${word(result)} after updating document ${quoted(key)}`,
  /** DEBUG: document keys that the user has, and those that may stay. */
  keyLists: (current: readonly string[], valid: readonly string[]): string =>
    `curr_key_list = ${listText(current)}, valid_key_list = ${listText(valid)}`,
  /** DEBUG */
  obsoleteKeys: (keys: readonly string[]): string => `obsolete keys are: ${listText(keys)}`,
  /** DEBUG; `result`: `removed`, or `missing` when it was gone already. */
  documentRemoved: (key: string, result: string): string =>
    `Result of removing document with key ${quoted(key)} is ${word(result)}`,
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
  | { kind: 'stage'; user: string; stage: string }
  | { kind: 'stageFinished'; user: string; stage: string; counts: Counts; seconds: number }
  | { kind: 'stageFailed'; user: string; stage: string; error: string }
  | { kind: 'userSkipped'; user: string; reason: string }
  | { kind: 'entryFailed'; error: string; key: string; write_ts: number; reason: string }
  | { kind: 'insertingError'; key: string; write_ts: number }
  | { kind: 'binned'; bins: number; empty: number }
  | { kind: 'addingTrips'; trips: number; day: string }
  | { kind: 'documentUpdated'; key: string; result: string }
  | { kind: 'keyLists'; current: string[]; valid: string[] }
  | { kind: 'obsoleteKeys'; keys: string[] }
  | { kind: 'documentRemoved'; key: string; result: string };

interface Format {
  /** Every message of this format begins so: most messages are told apart without a pattern. */
  prefix: string;
  pattern: RegExp;
  read: (groups: string[]) => Message | null;
}

const number = String.raw`-?(?:\d[\d.]*(?:e[+-]?\d+)?)`;
const entry = `key = (${quotedPattern}), write_ts = (${number}|null)`;
const counts = `((?:, \\w+ = ${number})*)`;
const list = String.raw`(\[(?:"(?:[^"\\]|\\.)*"(?:, )?)*\])`;

const format = (prefix: string, rest: string, read: Format['read']): Format => ({
  prefix,
  pattern: new RegExp(`^${prefix.replace(/[*()]/g, '\\$&')}${rest}$`),
  read,
});

// The commonest first.
const formats: readonly Format[] = [
  format('Updated result for user = ', `(\\S+), ${entry} = (inserted|updated|rejected \\((${quotedPattern})\\))`, (g) =>
    readEntry(g[0]!, unquoted(g[1]!), readNumber(g[2]!), g[3]!, g[4]),
  ),
  format('START ', '(\\S+) (\\S+)', ([method, path]) => ({ kind: 'startCall', method: method!, path: path! })),
  format('END ', '(\\S+) (\\S+)(?: (\\S+))? (\\d+\\.\\d+)', ([method, path, user, seconds]) => ({
    kind: 'endCall',
    method: method!,
    path: path!,
    user: user ?? null,
    seconds: Number(seconds),
  })),
  format('Answered ', '(\\d{3}) (\\S+) (\\S+)(?: (\\S+))?', ([status, method, path, code]) => ({
    kind: 'answered',
    status: Number(status),
    method: method!,
    path: path!,
    code: code ?? null,
  })),
  format('Called ', '(\\S+)', ([handler]) => ({ kind: 'called', handler: handler! })),
  format('Found user email ', '(.*)', ([email]) => ({ kind: 'foundEmail', email: email! })),
  format('user_uuid ', '(\\S+)', ([user]) => ({ kind: 'userUuid', user: user! })),
  format(
    'Stored entries of user = ',
    '(\\S+), inserted = (\\d+), updated = (\\d+), rejected = (\\d+)',
    ([user, inserted, updated, rejected]) => ({
      kind: 'putStored',
      user: user!,
      inserted: Number(inserted),
      updated: Number(updated),
      rejected: Number(rejected),
    }),
  ),
  format('Server started with workers = ', '(\\d+) on (\\S+)', ([workers, address]) => ({
    kind: 'serverStarted',
    workers: Number(workers),
    address: address!,
  })),
  format('Server stopped', '', () => ({ kind: 'serverStopped' })),
  format('Log lines dropped = ', '(\\d+) since (\\S+): (.*)', ([dropped, since, reason]) => ({
    kind: 'linesDropped',
    dropped: Number(dropped),
    since: since!,
    reason: reason!,
  })),

  format('**********UUID ', '(\\S+): (.*)\\*{10}', ([user, stage]) => ({ kind: 'stage', user: user!, stage: stage! })),
  format('UUID ', `(\\S+): finished ([^,:]*)${counts}, seconds = (${number})`, ([user, stage, list, seconds]) => ({
    kind: 'stageFinished',
    user: user!,
    stage: stage!,
    counts: readCounts(list!),
    seconds: Number(seconds),
  })),
  format('UUID ', '(\\S+): failed ([^,:]*): (.*)', ([user, stage, error]) => ({
    kind: 'stageFailed',
    user: user!,
    stage: stage!,
    error: error!,
  })),
  format('UUID ', '(\\S+): skipped: (.*)', ([user, reason]) => ({ kind: 'userSkipped', user: user!, reason: reason! })),
  format('Got error ', `(.*) while saving entry ${entry} -> (${quotedPattern})`, ([error, key, writeTs, reason]) => {
    const read = { key: unquoted(key!), write_ts: readNumber(writeTs!), reason: unquoted(reason!) };
    if (read.key === null || read.write_ts === null || read.reason === null) return null;
    return { kind: 'entryFailed', error: error!, key: read.key, write_ts: read.write_ts, reason: read.reason };
  }),
  format('Inserting entry ', `${entry} into error timeseries`, ([key, writeTs]) => {
    const read = { key: unquoted(key!), write_ts: readNumber(writeTs!) };
    if (read.key === null || read.write_ts === null) return null;
    return { kind: 'insertingError', key: read.key, write_ts: read.write_ts };
  }),
  format('After binning, we have ', '(\\d+) bins, of which (\\d+) are empty', ([bins, empty]) => ({
    kind: 'binned',
    bins: Number(bins),
    empty: Number(empty),
  })),
  format('Adding ', '(\\d+) trips for day (\\S+)', ([trips, day]) => ({
    kind: 'addingTrips',
    trips: Number(trips),
    day: day!,
  })),
  format('Result = ', `(\\S+) after updating document (${quotedPattern})`, ([result, key]) => ({
    kind: 'documentUpdated',
    key: unquoted(key!) ?? 'null',
    result: result!,
  })),
  format('curr_key_list = ', `${list}, valid_key_list = ${list}`, ([current, valid]) => {
    const read = { current: readList(current!), valid: readList(valid!) };
    return read.current === null || read.valid === null
      ? null
      : { kind: 'keyLists', current: read.current, valid: read.valid };
  }),
  format('obsolete keys are: ', list, ([keys]) => {
    const read = readList(keys!);
    return read === null ? null : { kind: 'obsoleteKeys', keys: read };
  }),
  format('Result of removing document with key ', `(${quotedPattern}) is (\\S+)`, ([key, result]) => ({
    kind: 'documentRemoved',
    key: unquoted(key!) ?? 'null',
    result: result!,
  })),
  format('Pipeline run started for ', '(.*)', ([what]) => ({ kind: 'runStarted', what: what! })),
  format('Pipeline run finished', `${counts}, seconds = (${number})`, ([list, seconds]) => ({
    kind: 'runFinished',
    counts: readCounts(list!),
    seconds: Number(seconds),
  })),
];

/** Takes a message apart; null when no function of `line` wrote it. */
export function parseMessage(message: string): Message | null {
  for (const { prefix, pattern, read } of formats) {
    if (!message.startsWith(prefix)) continue;
    const match = pattern.exec(message);
    if (match !== null) return read(match.slice(1));
  }
  return null;
}

function readEntry(
  user: string,
  key: string | null,
  writeTs: number | null,
  result: string,
  reason: string | undefined,
): Message | null {
  if (reason !== undefined) {
    return { kind: 'entryRejected', user, key, write_ts: writeTs, reason: unquoted(reason) ?? 'null' };
  }
  if (key === null || writeTs === null || (result !== 'inserted' && result !== 'updated')) return null;
  return { kind: 'entryStored', user, key, write_ts: writeTs, result };
}

function readNumber(text: string): number | null {
  return text === 'null' ? null : Number(text);
}

function readCounts(text: string): Counts {
  return Object.fromEntries(
    Array.from(text.matchAll(/, (\w+) = ([^,]+)/g), ([, name, count]) => [name!, Number(count)]),
  );
}

function readList(text: string): string[] | null {
  try {
    return JSON.parse(text) as string[];
  } catch {
    return null; // a list cut off at the greatest length of a message
  }
}
