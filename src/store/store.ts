// The Store interface and what each of its methods promises. Only keys, ranges and plain values cross it: no query
// language.
import type { Entry, EntryText, Identity } from '../model/entry.ts';
import type { JsonObject, JsonValue } from '../model/json.ts';
import type { JoinCount, JoinRefusal, StudyRecord, StudySettings } from '../model/study.ts';
import type { TimeRange } from '../model/time.ts';
import type { Position, TripRecord } from '../model/trip.ts';
import type { TokenRecord, UserRecord } from '../model/user.ts';

/**
 * Everything the service keeps. Users are named by UUID; no method but those of `users`, `tokens` and `studies` reads
 * across users.
 *
 * Every promise resolves after its effect is durable. After `close` every method rejects with `MOBILITY_STORE_CLOSED`;
 * a full disk rejects with `MOBILITY_STORE_FULL`, an engine out of reach with `MOBILITY_STORE_UNAVAILABLE`, and nothing
 * is half done.
 *
 * Wherever rows come by a key, a name or an id, their order is that of `compareTexts` (`text-order.ts`), in every
 * store.
 */
export interface Store {
  /** The address it was opened with, without credentials. */
  readonly address: string;
  readonly users: UserRegistry;
  readonly tokens: Tokens;
  readonly studies: Studies;
  readonly profiles: Profiles;
  readonly usercache: Usercache;
  readonly documents: Documents;
  readonly errors: ErrorTimeseries;
  readonly timeseries: Timeseries;
  readonly trips: Trips;
  readonly pipeline: PipelineStates;
  readonly leases: Leases;
  /** Rows of one user in each collection. */
  counts(userId: string): Promise<Record<Collection, number>>;
  /** Removes the user from every collection; returns the rows removed from each. Repeatable after an interruption. */
  erase(userId: string): Promise<Record<Collection, number>>;
  /** Resolves when a small write and a small read work. */
  ping(): Promise<void>;
  /** Finishes what runs and lets go of everything. A second close does nothing. */
  close(): Promise<void>;
}

/** Every collection that holds rows of users. `erase` and `counts` cover exactly these. */
export const collections = [
  'users',
  'tokens',
  'profiles',
  'usercache',
  'documents',
  'errors',
  'timeseries',
  'trips',
  'pipeline',
  'leases',
] as const;
/** The name of a part of the store that holds entries. */
export type Collection = (typeof collections)[number];

// ---------------------------------------------------------------- people

/** Who is registered. */
export interface UserRegistry {
  /**
   * Registers a name. A name that is there keeps its UUID and gets a new `update_ts`. Throws `MOBILITY_USER_EXISTS`
   * when `uuid` is given and either the name has another UUID or the UUID another name. Two registrations at once make
   * one user. `study` and `subgroup` are kept with a user who is new; a user who is there keeps theirs.
   */
  register(
    email: string,
    options: { uuid?: string; now: number; study?: string; subgroup?: string },
  ): Promise<{ user: UserRecord; created: boolean }>;
  byEmail(email: string): Promise<UserRecord | null>;
  byUuid(uuid: string): Promise<UserRecord | null>;
  /** Users by UUID, ascending, after `after`: `everyUser` in `pages.ts` follows the pages of this and other lists. */
  list(page: { after?: string; limit: number }): Promise<UserRecord[]>;
}

/** Tokens, kept by their hash. */
export interface Tokens {
  add(token: TokenRecord): Promise<void>;
  byHash(hash: string): Promise<TokenRecord | null>;
  list(userId: string): Promise<TokenRecord[]>;
  /** Removes one token of the user, or all; returns how many. */
  remove(userId: string, hash?: string): Promise<number>;
  /** Notes when the token was used last; a token that is gone is no error. */
  touch(hash: string, usedTs: number): Promise<void>;
}

/** Who wants to join a study. */
export interface Enrolment {
  study: string;
  subgroup: string;
  /** The name of the account, should one be made. */
  email: string;
  /** The token that opens it from then on. */
  token: Omit<TokenRecord, 'user_id'>;
  now: number;
  /** True for a token that an operator made: a closed study, a list and the limits do not stop it. */
  byOperator?: boolean;
}

/** What came of it; `known`: the token had been enrolled before. */
export type Enrolled =
  | { enrolled: UserRecord }
  | { known: UserRecord }
  | { refused: JoinRefusal | 'name_taken' | 'token_taken' };

/** Studies that people join by themselves. */
export interface Studies {
  /** Makes the study, or replaces its settings. The count of who joined stays unless `joined` is given. */
  put(settings: StudySettings, joined?: JoinCount): Promise<void>;
  byName(name: string): Promise<StudyRecord | null>;
  /** By name. */
  list(): Promise<StudyRecord[]>;
  /**
   * Makes the account and its token and counts it, if `admit` lets them in: all or nothing, but that an interruption
   * may count somebody who did not get in. A token that opens an account already changes nothing; two calls with one
   * token at once make one account.
   */
  enrol(enrolment: Enrolment): Promise<Enrolled>;
}

/** What the app reports about itself, one object per user, without the user's id in it. */
export interface Profiles {
  get(userId: string): Promise<JsonObject | null>;
  /**
   * Sets the top-level fields of `fields`, and those of `defaults` that are not there yet. Atomic. Returns the whole
   * profile.
   */
  merge(userId: string, fields: JsonObject, defaults?: JsonObject): Promise<JsonObject>;
}

// ---------------------------------------------------------------- staging

/** What became of an entry of a put. */
export type PutResult = 'inserted' | 'updated';

/** Something pushed that cannot be an entry, exactly as it came. */
export interface UnusableEntry {
  entry: JsonValue;
  reason: string;
  message: string;
}

/** A waiting entry and the revision it was read at: it changes with every push, and is never used again. */
export interface WaitingEntry {
  entry: Entry;
  /** JSON text of `entry`, where the store has it. */
  text?: string;
  revision: string;
  /** When the service received this identity first, seconds since the epoch. */
  received_ts: number;
  /** The timeseries had it before its time had come: no converter has to accept it again. */
  kept?: true;
  /** What is known of earlier failures of an entry that was taken back from the errors; absent for all others. */
  failed?: { first_ts: number; tries: number };
}

/** What one put stores. */
export interface PutBatch {
  /** As objects, or as the texts they came as: each kind of store takes either. */
  entries: readonly (Entry | EntryText)[];
  unusable: readonly UnusableEntry[];
  /**
   * When each of `entries` was received first, where another store noted it; default: now, or what is known of the
   * identity.
   */
  received_ts?: readonly (number | undefined)[];
  /** They come from the timeseries: each waits until its time has come, unless its identity waits already. */
  kept?: true;
}

/** The staging store: entries that phones pushed and that wait for the pipeline. */
export interface Usercache {
  /**
   * Stores a batch in one transaction: `entries` by identity (a later one replaces an earlier one), `unusable` into the
   * error timeseries, once per content (coming again counts as another try). Results are in the order of `entries`;
   * `updated` when the identity was known to the usercache, the timeseries or the error timeseries, or stood earlier in
   * the batch. All or nothing.
   */
  put(userId: string, batch: PutBatch, now: number): Promise<PutResult[]>;
  /**
   * Waiting entries by key and `write_ts`, ascending, after `after`. A page of large entries may be shorter than
   * `limit`: only an empty one is the end. `at`: without those that take no part yet at that time, see `isAhead` in
   * `receipts.ts`.
   */
  read(userId: string, page: { after?: Identity; limit: number; at?: number }): Promise<WaitingEntry[]>;
  /**
   * Ends the stay of entries that were moved: each is removed unless it has been pushed again since it was read, and an
   * error of the same identity with it; each of `failed` that is still at its revision goes to the error timeseries,
   * once. Atomic. Returns how many left. Call it after the timeseries has them.
   */
  settle(
    userId: string,
    outcome: { moved: readonly WaitingRef[]; failed: readonly FailedEntry[] },
    now: number,
  ): Promise<number>;
  /** Waiting entries by time, like `Timeseries.find`. */
  find(userId: string, query: EntryQuery): Promise<EntryPage>;
  /** Number of waiting entries, and the oldest and newest `write_ts`. */
  summary(userId: string): Promise<{ count: number; oldest_ts: number | null; newest_ts: number | null }>;
  /** Number of waiting entries that take no part yet at time `at`, and the first time at which one of them will. */
  ahead(userId: string, at: number): Promise<{ count: number; first_ts: number | null }>;
}

/** A waiting entry in the very content that was read. */
export interface WaitingRef extends Identity {
  revision: string;
}

/** A waiting entry that goes to the error timeseries. */
export interface FailedEntry extends WaitingRef {
  reason: string;
  message: string;
}

/** What the phone pulls. Identity: user and key; apart from what phones push under the same key. */
export interface Document {
  key: string;
  /** Last change, seconds since the epoch. */
  write_ts: number;
  data: JsonValue;
}

/** A change of a user's documents, done in one transaction. */
export interface DocumentsChange {
  /** Each replaces the document of its key in place, or is inserted; of two with one key the last stays. */
  put: readonly Document[];
  /** Keys of documents that go; one that is not there is passed over. */
  remove: readonly string[];
}

/** Documents derive from trips: they are kept and written with them, under the same lease. */
export interface Documents {
  /**
   * Applies a change, merges `state` into the pipeline state and, with `release`, gives the lease back, all in one
   * transaction. `results` are in the order of `put`. Throws `MOBILITY_LEASE_LOST`.
   */
  apply(
    userId: string,
    change: DocumentsChange,
    lease: Lease,
    end?: { state?: Partial<PipelineState>; release?: boolean },
  ): Promise<{ results: PutResult[]; removed: number }>;
  get(userId: string, key: string): Promise<Document | null>;
  /** All documents of the user by `write_ts`, then key. */
  list(userId: string): Promise<Document[]>;
  /** Keys present, sorted. */
  keys(userId: string): Promise<string[]>;
}

/** An entry set aside, with what is known about why. */
export interface ErrorRow {
  /** Made from the identity, or from the content of an unusable entry. */
  id: string;
  /** Exactly as pushed (times in seconds). */
  entry: JsonValue;
  /** null for an unusable entry. */
  identity: Identity | null;
  reason: string;
  message: string;
  /** When it was set aside first and last, seconds since the epoch. */
  first_ts: number;
  last_ts: number;
  /** How often it failed. */
  tries: number;
  /** When the service received it first, seconds since the epoch. */
  received_ts: number;
}

/** Entries that were set aside, with the reason. */
export interface ErrorTimeseries {
  /**
   * Errors by id, ascending, after `after`. A page of large entries may be shorter than `limit`: only an empty one is
   * the end.
   */
  list(userId: string, page: { key?: string; reason?: string; after?: string; limit: number }): Promise<ErrorRow[]>;
  /** Counts by key (null, which comes first: unusable without a key) and reason. */
  summary(userId: string): Promise<{ key: string | null; reason: string; count: number }[]>;
  /**
   * Moves errors back to the usercache as `entry`, atomically: an identity that waits there already keeps the newer
   * content and the error goes. An error that is no longer there is passed over. Returns how many went back. One that
   * fails again keeps its `first_ts` and goes on counting its `tries`.
   */
  takeBack(userId: string, errors: readonly { id: string; entry: Entry }[]): Promise<number>;
  /**
   * Makes errors be exactly as told, for copies from store to store: `put` replaces what has its id, history and all;
   * what `remove` names goes. Many rows may take several transactions; it may be repeated.
   */
  apply(userId: string, change: { put: readonly ErrorRow[]; remove: readonly string[] }): Promise<void>;
}

// ---------------------------------------------------------------- long term

/** Entries by one of their two times; the timeseries gives them as they came. */
export interface EntryQuery {
  /** Without keys: all. An empty list: none. */
  keys?: readonly string[];
  /**
   * `write_ts`: when it was written; `ts`: `KeptEntry.ts`, or `dataTime` of a waiting payload; entries without it are
   * left out.
   */
  time: 'write_ts' | 'ts';
  /** Half-open; a missing bound is open. */
  from?: number;
  to?: number;
  after?: EntryCursor;
  limit: number;
  descending?: boolean;
}

/**
 * Position in the order of a query: time, then key, then `write_ts`. What follows it is given, whether or not an entry
 * stands there; it may be of any query or of none.
 */
export interface EntryCursor {
  time: number;
  key: string;
  write_ts: number;
}

/** A page of entries. */
export interface EntryPage {
  entries: Entry[];
  /** When the service received each of them first, seconds since the epoch. */
  received_ts: number[];
  /** Where the next page begins; null at the end. */
  next: EntryCursor | null;
}

/** An entry as the timeseries keeps it: as it came, found by the time that its converter reads in it. */
export interface KeptEntry {
  entry: Entry;
  /** `dataTime` of the converted payload. */
  ts: number | null;
  /** JSON text of `entry`, where it is at hand. */
  text?: string;
  /** When the service received it first; default: what the timeseries knows, or now by the store's clock. */
  received_ts?: number;
}

/** A change of a user's timeseries, done in one transaction. */
export interface TimeseriesChange {
  /**
   * Entries as they came; each replaces what has its identity. One given alone is found by the `dataTime` of its own
   * payload.
   */
  put: readonly (KeptEntry | Entry)[];
  /** Identities that failed: what an earlier content left in the timeseries goes. */
  remove: readonly Identity[];
  /** Data time to mark as changed beyond what `put` and `remove` change. */
  alsoChanged?: TimeRange | null;
}

/**
 * What a change marks in the pipeline state: data time that affects trips, both ends included, and whether documents
 * may differ.
 */
export interface Marked {
  changed: TimeRange | null;
  documents: boolean;
}

/** The long-term store of entries. */
export interface Timeseries {
  /**
   * Applies a change and marks in the pipeline state, in the same transaction, the data time it touches: `ts` of every
   * entry that is new, gone or different (old and new time) and that affects trips (`affectsOf`), and whether one
   * affects documents. Identical content changes nothing. `marked` tells what was marked. Throws `MOBILITY_LEASE_LOST`.
   */
  apply(
    userId: string,
    change: TimeseriesChange,
    lease: Lease,
  ): Promise<{ inserted: number; updated: number; unchanged: number; removed: number; marked: Marked }>;
  /** One page of entries. Every entry of a range is found by following `next`. */
  find(userId: string, query: EntryQuery): Promise<EntryPage>;
  get(userId: string, identity: Identity): Promise<Entry | null>;
  /** Entries that take no part yet at time `at`: such as were moved by a program that did not note receipts. */
  ahead(userId: string, page: { at: number; limit: number }): Promise<KeptEntry[]>;
  /** Count and first and last `dataTime` of each key, by key. */
  summary(userId: string): Promise<{ key: string; count: number; first_ts: number | null; last_ts: number | null }[]>;
  /**
   * The entries with a valid zone next to `writeTs`: the last at or before, the first after; equal times by key, the
   * smallest.
   */
  zonesAround(userId: string, writeTs: number): Promise<{ before: ZoneSighting | null; after: ZoneSighting | null }>;
  /**
   * Span of `dataTime` (end included) of entries without a valid zone that affect trips, `write_ts` in `written`; null
   * if none.
   */
  zonelessSpan(userId: string, written: TimeRange): Promise<TimeRange | null>;
}

/** The time zone that a phone had when it wrote an entry. */
export interface ZoneSighting {
  write_ts: number;
  zone: string;
}

/** When a trip was, and when it was last written. */
export interface TripSpan {
  chain_ts: number;
  start_ts: number;
  end_ts: number;
  /**
   * By the store's clock. A trip that a `replace` leaves as it was keeps its time; null for one that was written by a
   * program that did not note it.
   */
  written_ts: number | null;
}

/** The trips of users: one chain of links for each user. */
/** The least of a trip that tells where it led and by what: no line. */
export interface TripOutline {
  chain_ts: number;
  start_ts: number;
  start_zone: string;
  start_loc: Position;
  end_loc: Position;
  /** Of each section. */
  sections: { sensed_mode: string; distance: number }[];
}

/** The chain of trips of each user. */
export interface Trips {
  /** Links of the chain by `chain_ts` in `[from, to)`, ascending. */
  chain(userId: string, range: { from?: number; to?: number; limit: number }): Promise<TripRecord[]>;
  /** The last link with `settled_ts` below `ts`, that of all links before it being below `ts` too; null if none. */
  lastSettledBefore(userId: string, ts: number): Promise<TripRecord | null>;
  /** Trips (not dropped ones) by local start day, both ends included, ascending. */
  byDay(userId: string, days: { from: string; to: string }): Promise<TripRecord[]>;
  /** Those of these days that trips (not dropped ones) start on, ascending. */
  days(userId: string, days: { from: string; to: string }): Promise<string[]>;
  /** The first trip (not dropped ones) that follows `chainTs`. */
  next(userId: string, chainTs: number): Promise<TripRecord | null>;
  /** The last trip (not dropped ones) before `chainTs`. */
  previous(userId: string, chainTs: number): Promise<TripRecord | null>;
  /** Start of the first and end of the last trip, and their number. */
  summary(userId: string): Promise<{ count: number; start_ts: number | null; end_ts: number | null }>;
  /**
   * The times of the trips (not the dropped ones) with `chain_ts` in `[from, to)`, ascending, without what is large.
   */
  spans(userId: string, range: { from: number; to: number }): Promise<TripSpan[]>;
  /**
   * The outlines of the trips (not of dropped links) with these `chain_ts`, ascending; those that are gone are missing.
   */
  outlines(userId: string, chainTs: readonly number[]): Promise<TripOutline[]>;
  /**
   * Makes `records` the links with `chain_ts` in `[from, to)` and merges `state` into the pipeline state, in one
   * transaction. Fields that `state` does not name are afterwards as they were. Links that are the same keep their
   * rows. Throws `MOBILITY_LEASE_LOST`.
   */
  replace(
    userId: string,
    range: { from: number; to: number },
    records: readonly TripRecord[],
    state: Partial<PipelineState>,
    lease: Lease,
  ): Promise<{ added: number; removed: number; changed: number; unchanged: number }>;
}

// ---------------------------------------------------------------- the pipeline's own

/** Where the pipeline stands with one user. Times are seconds since the epoch. */
export interface PipelineState {
  /** Data time changed since trips were derived last, both ends included; null: trips are up to date. */
  changed: TimeRange | null;
  /** True when the documents may differ from the trips. */
  documents_due: boolean;
  /** Data time up to which the diary is final; null before the first trip. */
  complete_until: number | null;
  /** True when `complete_until` was known and is not any more, while documents made of what went may still be there. */
  complete_lost: boolean;
  /** Which locations the trips came from: the phone's filtered ones, or all where it sends no filtered ones. */
  locations_from: 'background/filtered_location' | 'background/location' | null;
  /** Version of the analysis that made the trips, code and model; a number in states of before. */
  analysis_version: string | number | null;
  /** True once what was moved before receipts were noted has been looked through. */
  receipts: boolean;
  /** Last run that did something: when, and why it failed (null: it did not). */
  last_run_ts: number | null;
  last_error: string | null;
}

/** The state of a user whom the pipeline has not met. */
export const initialPipelineState: PipelineState = {
  changed: null,
  documents_due: false,
  complete_until: null,
  complete_lost: false,
  locations_from: null,
  analysis_version: null,
  receipts: false,
  last_run_ts: null,
  last_error: null,
};

/** How far the pipeline is with each user. */
export interface PipelineStates {
  get(userId: string): Promise<PipelineState>;
  /** Merges fields into the state. Throws `MOBILITY_LEASE_LOST`. */
  merge(userId: string, fields: Partial<PipelineState>, lease: Lease): Promise<void>;
  /** Those of `userIds` with waiting entries that take part at time `at`, changed data time, or documents due. */
  withWork(userIds: readonly string[], at: number): Promise<Set<string>>;
}

/**
 * The right to work on one user until it expires. `fence` grows with every lease on the user, so a late owner is known.
 */
export interface Lease {
  user_id: string;
  owner: string;
  fence: number;
  expires_ts: number;
}

/** Leases: one process at a time works on a user. */
export interface Leases {
  /** Takes the user unless another's unexpired lease is there. Atomic, by the store's clock. */
  acquire(userId: string, owner: string, seconds: number): Promise<{ lease: Lease } | { heldBy: Lease }>;
  /** Moves the expiry. Throws `MOBILITY_LEASE_LOST` when another has taken over. */
  renew(lease: Lease, seconds: number): Promise<Lease>;
  /** Gives it back; a lease already lost is no error. */
  release(lease: Lease): Promise<void>;
  /** The unexpired lease on the user. */
  get(userId: string): Promise<Lease | null>;
}
