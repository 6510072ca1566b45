// The messages that operators search for. `mobility logs` parses the ones about calls.
import { listText, pathWord, quoted, secondsText, word } from './text.ts';

/** Entries of a put by result. Values that are not entries count as rejected. */
export type PutCounts = { inserted: number; updated: number; rejected: number };

export type Counts = Readonly<Record<string, number>>;

const entryText = (key: string | null, writeTs: number | null): string =>
  `key = ${quoted(key)}, write_ts = ${Number.isFinite(writeTs) ? writeTs : null}`;
const listOf = (counts: Counts): string[] => Object.entries(counts).map(([name, count]) => `${name} = ${count}`);
const about = (user: string, text: string): string => `UUID ${word(user)}: ${text}`;
const userText = (user: string | null): string => (user === null ? '' : ` ${word(user)}`);

/**
 * Makes messages. A text from outside is encoded so that it cannot imitate another field or a new
 * line. `user` is a UUID, `since` an ISO 8601 timestamp. No function takes a payload, a secret
 * token or a coordinate. docs/logs.md lists the level and the occasion of each message.
 */
export const line = {
  serverStarted: (workers: number, address: string): string =>
    `Server started with workers = ${workers} on ${word(address)}`,
  serverStopped: (): string => 'Server stopped',
  startCall: (method: string, path: string): string => `START ${word(method)} ${pathWord(path)}`,
  called: (handler: string): string => `Called ${pathWord(handler)}`,
  foundEmail: (email: string): string => `Found user email ${email}`,
  userUuid: (user: string): string => `user_uuid ${word(user)}`,
  /**
   * `token`: the id of the token, not the secret. `state`: why it is refused, such as `not known`.
   * `email` is last, as it may contain anything: erasures overwrite all after `of` or `sent as`.
   */
  refusedToken: (token: string, state: string, relation: 'of' | 'sent as', email: string): string =>
    `Refused token ${token}, ${state}, ${relation} ${email}`,
  entryStored: (user: string, key: string, writeTs: number, result: 'inserted' | 'updated'): string =>
    `Updated result for user = ${word(user)}, ${entryText(key, writeTs)} = ${result}`,
  entryRejected: (user: string, key: string | null, writeTs: number | null, reason: string): string =>
    `Updated result for user = ${word(user)}, ${entryText(key, writeTs)} = rejected (${quoted(reason)})`,
  entriesNotListed: (user: string, count: number): string =>
    `Log lines of the day used up by user = ${word(user)}, entries not listed = ${count}`,
  valuesNotListed: (user: string, count: number): string =>
    `Rejected values without a key of user = ${word(user)}, not listed = ${count}`,
  putStored: (user: string, { inserted, updated, rejected }: PutCounts): string =>
    `Stored entries of user = ${word(user)}, inserted = ${inserted}, updated = ${updated}, rejected = ${rejected}`,
  answered: (status: number, method: string, path: string, code?: string | null, reason?: string | null): string =>
    `Answered ${status} ${word(method)} ${pathWord(path)}${userText(code ?? null)}${reason == null ? '' : `: ${reason}`}`,
  endCall: (method: string, path: string, user: string | null, seconds: number): string =>
    `END ${word(method)} ${pathWord(path)}${userText(user)} ${secondsText(seconds)}`,
  /** `calls`: the number of unauthenticated calls beyond the limit of log lines a minute. */
  callsNotLogged: (calls: number, since: string): string =>
    `Calls without a caller not logged = ${calls} since ${word(since)}`,
  accountExpired: (user: string, study: string): string =>
    about(user, `account expired: joined study ${word(study)} and sent nothing`),
  manyJoined: (study: string, people: number, most: number): string =>
    `Study ${word(study)}: ${people} people joined within an hour, of at most ${most}; see mobility study show`,
  dropped: (what: 'Log lines' | 'Lines of standard output', count: number, since: string, reason: string): string =>
    `${what} dropped = ${count} since ${word(since)}: ${reason}`,
  stage: (user: string, stage: string): string => `**********UUID ${word(user)}: ${stage}**********`,
  stageFinished: (user: string, stage: string, counts: Counts, seconds: number): string =>
    about(user, `finished ${stage} in ${secondsText(seconds)} s: ${listOf(counts).join(', ') || 'nothing to do'}`),
  pipelineFailed: (user: string, error: string): string => about(user, `pipeline failed: ${error}`),
  /** `error` contains no part of the payload. */
  entryFailed: (user: string, error: string, key: string, writeTs: number, reason: string): string =>
    about(user, `Got error ${error} while saving entry ${entryText(key, writeTs)} -> ${quoted(reason)}`),
  insertingError: (user: string, key: string, writeTs: number): string =>
    about(user, `Inserting entry ${entryText(key, writeTs)} into error timeseries`),
  /** `bins`: days whose document was built. `empty`: how many of them have no trip. */
  binned: (user: string, bins: number, empty: number): string =>
    about(user, `After binning, we have ${bins} bins, of which ${empty} are empty`),
  addingTrips: (user: string, trips: number, day: string): string =>
    about(user, `Adding ${trips} trips for day ${word(day)}`),
  documentUpdated: (user: string, key: string, result: string): string =>
    about(user, `Result = ${word(result)} after updating document ${quoted(key)}`),
  /** `current`: all documents of the user. `valid`: the documents that the diary still needs. */
  keyLists: (user: string, current: readonly string[], valid: readonly string[]): string =>
    about(user, `curr_key_list = ${listText(current)}, valid_key_list = ${listText(valid)}`),
  obsoleteKeys: (user: string, keys: readonly string[]): string => about(user, `obsolete keys are: ${listText(keys)}`),
  documentRemoved: (user: string, key: string, result: string): string =>
    about(user, `Result of removing document with key ${quoted(key)} is ${word(result)}`),
  aboutUser: about,
} as const;

// The messages that `mobility logs` parses. The most frequent is tried first.
const patterns = Object.entries({
  entryStored: /^Updated result for user = .* = (?:inserted|updated|rejected \(.*\))$/,
  startCall: /^START (?<method>\S+) (?<path>\S+)$/,
  endCall: /^END (?<method>\S+) (?<path>\S+)(?: (?<user_id>\S+))? (?<seconds>\d+\.\d+)$/,
  answered: /^Answered (?<status>\d{3}) (?<method>\S+) (?<path>\S+)(?: (?<code>[A-Z_]+))?(?:: (?<reason>.*))?$/,
  called: /^Called (?<handler>\S+)$/,
  foundEmail: /^Found user email (?<user_email>.*)$/,
  userUuid: /^user_uuid (?<user_id>\S+)$/,
  putStored:
    /^Stored entries of user = \S+, inserted = (?<inserted>\d+), updated = (?<updated>\d+), rejected = (?<rejected>\d+)$/,
});

const numbers: ReadonlySet<string> = new Set(['seconds', 'status', 'inserted', 'updated', 'rejected']);

type Texts = Record<'method' | 'path' | 'handler' | 'user_email' | 'user_id' | 'code' | 'reason', string>;

export interface Message extends Partial<PutCounts & Texts & Record<'status' | 'seconds', number>> {
  /** The function of `line` that made the message. `entryRejected` counts as `entryStored`. */
  kind: string;
}

/** Returns null if the message is not about a call. */
export function parseMessage(message: string): Message | null {
  for (const [kind, pattern] of patterns) {
    const match = pattern.exec(message);
    if (match === null) continue;
    const fields = Object.entries(match.groups ?? {}).filter(([, text]) => text !== undefined);
    const values = fields.map(([name, text]) => [name, numbers.has(name) ? Number(text) : text]);
    return { kind, ...Object.fromEntries(values) };
  }
  return null;
}
