import type { Dirty } from '../model/dirty-range.ts';
import type { Entry, Identity } from '../model/entry.ts';
import type { JsonObject, JsonValue } from '../model/json.ts';
import type { ManagerRecord } from '../model/manager.ts';
import type { MobilityError } from '../model/mobility-error.ts';
import type { Lease, PipelineState } from '../model/pipeline-state.ts';
import type { Enrolment, EnrolResult, StudyRecord, StudySettings } from '../model/study.ts';
import type { TimeRange } from '../model/time.ts';
import type { BriefRecord, TripRecord, TripSpan, ZoneSighting } from '../model/trip.ts';
import type { RevokedWhy, TokenRecord, UserRecord } from '../model/user.ts';

export { initialPipelineState, type Lease, type PipelineState } from '../model/pipeline-state.ts';

/**
 * All data of the service. Users are named by UUID. Keys, names and ids are sorted with `compareTexts`.
 *
 * Every method that writes about a user checks in its own transaction that the user is admitted: registered, and not
 * being erased. Otherwise it rejects with `MOBILITY_USER_UNKNOWN`, or with `MOBILITY_LEASE_LOST` if it takes a lease.
 *
 * Every promise resolves after its effect is durable, and no effect is partial. Every method may reject with
 * `MOBILITY_STORE_CLOSED` after `close`, `_FULL` (the disk), `_UNAVAILABLE` (the engine), `_BUSY` and `_DAMAGED`.
 */
export interface Store {
  /** Without credentials. */
  readonly address: string;
  readonly users: UserRegistry;
  readonly tokens: Tokens;
  readonly studies: Studies;
  readonly managers: Managers;
  readonly feeds: Feeds;
  readonly profiles: Profiles;
  readonly usercache: Usercache;
  readonly documents: Documents;
  readonly errors: ErrorTimeseries;
  readonly timeseries: Timeseries;
  readonly trips: Trips;
  readonly pipeline: PipelineStates;
  readonly leases: Leases;
  counts(userId: string): Promise<Record<Collection, number>>;
  /** Removes a user. Returns how many rows or entries each collection had. Repeat it after a failure. */
  erase(userId: string, how?: Erasure): Promise<Record<Collection, number>>;
  /** Users who are only partly erased, or only partly copied from another store, by UUID. `erase` removes them. */
  unfinished(): Promise<Unfinished[]>;
  /** Does a small write and a small read, to show that both work. */
  ping(): Promise<void>;
  /** Bytes that the store takes on disk, and free bytes on this disk; null: the server does not report free bytes. */
  disk(): Promise<{ bytes: number; free: number | null }>;
  /** The engine and its version: `SQLite 3.51.1`. */
  version(): Promise<string>;
  /** Waits for running calls, then closes the store. A second call does nothing. */
  close(): Promise<void>;
}

export interface Erasure {
  /** The row in `users` stays: the caller still needs the name, and erases again at the end. */
  keepRecord?: boolean;
  /** Leaves bytes of removed rows in the files, until an erasure without `keepTraces` overwrites them. */
  keepTraces?: boolean;
}

export const collections = [
  'users',
  'tokens',
  'profiles',
  'usercache',
  'documents',
  'errors',
  'timeseries',
  'trips',
] as const;
export type Collection = (typeof collections)[number];

/** A user whose data are incomplete. */
export interface Unfinished {
  user_id: string;
  stage: 'erasing' | 'arriving';
}

// ---------------------------------------------------------------- people

export interface UserRegistry {
  /**
   * Registers a name. If it is registered, only `update_ts` changes. Throws `MOBILITY_USER_EXISTS` if the name has
   * another UUID, if the UUID has another name, or if an erasure of the user was interrupted: repeat the erasure first.
   */
  register(
    email: string,
    options: { uuid?: string; now: number; study?: string; subgroup?: string },
  ): Promise<{ user: UserRecord; created: boolean }>;
  byEmail(email: string): Promise<UserRecord | null>;
  byUuid(uuid: string): Promise<UserRecord | null>;
  /** False once an erasure has begun, and until a copy of the user from another store is complete. */
  isActive(uuid: string): Promise<boolean>;
  /** The figures of one user or of a page of users, read in one snapshot. */
  figures(which: { uuid: string } | UserPage): Promise<PersonFigures[]>;
  list(page: UserPage): Promise<UserRecord[]>;
  /** The figures of one month that are stored for the users of a page, read in one snapshot. */
  months(page: UserPage, month: string): Promise<MemberMonth[]>;
}

/** The next `limit` users after the UUID `after`. `study`: only its members. */
export interface UserPage {
  study?: string;
  after?: string;
  limit: number;
}

/** The figures of a month that `Trips.apply` stored for a user. */
export interface MemberMonth extends Pick<PersonFigures, 'registered_ts' | 'audit_key'> {
  user_id: string;
  /** The stored figures; null: none are stored, or entries that arrived later may change the figures. */
  figures: JsonObject | null;
  /** Changes whenever the data of the user change. */
  revision: string;
}

/**
 * Facts about a user, from which `deriveStatus` derives the status. Times in the profile, seconds since the epoch:
 * - `last_put_ts`: the last put. `last_stored_ts`: the last put with entries.
 * - `last_phone_data_ts`: the newest `write_ts` of the last put with entries.
 * - `last_located_ts`: the last put with a location. `last_location_ts`: the newest data time of a location.
 * - `last_usable_ts`: the last put with a location that trips can be made of. `last_unusable_ts`: the last put with
 * locations of which none is usable. `last_unusable_why`: most of them were `inexact` or `misdated`.
 * - `waiting_since_ts`: the first put with entries since the end of the last run.
 * - `last_fetch_ts`: a fetch of days or trips. It is at most an hour older than the last fetch.
 * - `last_refusal_ts`: the last refused token. `last_limit_ts`: the last exceeded limit.
 */
export interface PersonFigures {
  user: UserRecord;
  registered_ts: number;
  /** Random. The name of the user in the audit log. */
  audit_key: string;
  /** `erasing` and `arriving`: see `Store.unfinished`. */
  stage: 'active' | Unfinished['stage'];
  profile: JsonObject;
  /** Tokens for phones and scripts. */
  tokens: TokenRecord[];
  state: PipelineState;
  /** The last lease, even if it has expired; null: there was none, or it was released. */
  lease: Lease | null;
  /**
   * Pending entries. `ahead`: the number of entries that stay pending until their `write_ts`, because the clock of the
   * phone was ahead. `next_due_ts`: the earliest `write_ts` of such an entry.
   */
  waiting: { count: number; ahead: number; next_due_ts: number | null };
  /** Rejected entries by key and reason. `last_ts`: the time of the last one. */
  set_aside: { key: string | null; reason: string; count: number; last_ts: number }[];
}

export interface Tokens {
  add(token: TokenRecord): Promise<void>;
  byHash(hash: string): Promise<TokenRecord | null>;
  /** All tokens of a user by `created_ts`, also expired and revoked ones. */
  list(userId: string): Promise<TokenRecord[]>;
  /** Revokes a token of the user; its record stays. False if the user has no such token or the token is revoked. */
  revoke(userId: string, hash: string, revoked: { ts: number; why: RevokedWhy }): Promise<boolean>;
  /** Records the time of the last use. An unknown token is not an error. */
  touch(hash: string, usedTs: number): Promise<void>;
}

export interface Studies {
  /** Creates the study or replaces its settings. The number of joins stays. */
  put(settings: StudySettings): Promise<void>;
  byName(name: string): Promise<StudyRecord | null>;
  byJoinName(name: string): Promise<StudyRecord | null>;
  list(): Promise<StudyRecord[]>;
  /**
   * Creates an account with the token if the study and its limits admit the person. A token of an existing account
   * changes nothing.
   */
  enrol(enrolment: Enrolment): Promise<EnrolResult>;
  /** True if the owner of the token was erased: the token cannot join the study again. */
  hasErased(study: string, hash: string): Promise<boolean>;
  /** Lets a token of an erased owner join the study again. False: the token could join already. */
  readmit(study: string, hash: string): Promise<boolean>;
  /** Removes the study, unless it has members. Returns their number. */
  remove(name: string): Promise<number>;
  /**
   * Removes up to `limit` accounts of people who joined the study by its link in `[from, to)` and have no entry, the
   * earliest first. Returns them; fewer than `limit`: no more are left.
   */
  removeIdle(study: string, range: { from?: number; to?: number; limit: number }): Promise<UserRecord[]>;
}

export interface Managers {
  byName(name: string): Promise<ManagerRecord | null>;
  list(): Promise<ManagerRecord[]>;
  /** Replaces the record by the result of `change` (null: no record) and returns it. May call `change` repeatedly. */
  change(name: string, change: (before: ManagerRecord | null) => ManagerRecord | null): Promise<ManagerRecord | null>;
}

/** A transit feed. `id`: SHA-256 of the zip in hex. `index`: a text that only the caller interprets. */
export interface FeedRecord {
  id: string;
  facts: JsonObject;
  index: string;
}

export interface Feeds {
  /** Stores a feed with its zip, replacing a feed with the same id. After an interruption, no part of it is visible. */
  add(feed: FeedRecord, zip: AsyncIterable<Uint8Array>): Promise<void>;
  /** All feeds by id. `facts` is null for a removed feed: trips near it must be derived again. */
  list(): Promise<{ id: string; facts: JsonObject | null }[]>;
  index(id: string): Promise<string | null>;
  /** A part of the zip; null after the last. `number`: 1 for the first part. */
  part(id: string, number: number): Promise<Uint8Array | null>;
  /** Removes the feed. False: no feed has this id. */
  remove(id: string): Promise<boolean>;
}

/** One object per user, which does not contain the user's id. */
export interface Profiles {
  get(userId: string): Promise<JsonObject | null>;
  /**
   * Replaces `fields`, and sets missing fields from `defaults`. Returns the whole profile. A function makes the fields
   * from the profile before. It may be called several times, and nothing changes if it throws.
   */
  merge(
    userId: string,
    fields: JsonObject | ((before: JsonObject) => JsonObject),
    defaults?: JsonObject,
  ): Promise<JsonObject>;
}

// ---------------------------------------------------------------- staging

export type PutResult = 'inserted' | 'updated';

/** A pushed value that is rejected at once. */
export interface UnusableEntry {
  /** Exactly as it was pushed. */
  entry: JsonValue;
  /** Set for a valid entry that must not become pending; missing: the value is not a valid entry. */
  identity?: Identity;
  reason: string;
  message: string;
}

export interface PutContent {
  entries: readonly Entry[];
  unusable: readonly UnusableEntry[];
  /** When another store first received each entry, for imports. Default: the known first receipt, or now. */
  received_ts?: readonly (number | undefined)[];
  /** Changes of the user's profile by the put. */
  note?: ProfileNote;
}

/** Changes of a profile. `PersonFigures` lists its fields. */
export interface ProfileNote {
  set: JsonObject;
  /** New values by field. A value replaces a stored value that is smaller or not a number. */
  raise?: Readonly<Record<string, number>>;
  /** New times by field. A time replaces a stored value that is before the end of the last run, or not a number. */
  sinceRun?: Readonly<Record<string, number>>;
}

export interface PutOutcome {
  /** One per entry, in the same order. */
  results: PutResult[];
  /** Why the note was not written, such as a damaged profile; the rest is stored. null: the note was written. */
  noteError: MobilityError | null;
}

export interface Usercache {
  /**
   * Stores the content of a put in one transaction.
   * - `entries` by identity: a later entry replaces an earlier one.
   * - `unusable` in the error timeseries, once per content: a repetition counts as another attempt. An unusable entry
   * with an identity counts as older than `entries`: an entry of the same put replaces it. The unusable entry replaces
   * the pending entry and the error of its identity, and keeps their first receipt and earlier failures.
   * - `note` in the profile.
   *
   * A result is `updated` if the store has the identity, or if it occurs earlier in the put. The caller must not change
   * the content before the promise settles.
   */
  put(userId: string, content: PutContent, now: number): Promise<PutOutcome>;
  /**
   * Moves pending entries that are due at time `at`, oldest puts first, until `limit` entries were judged. Entries that
   * `judge` accepts go to the timeseries, others to the error timeseries. The pipeline state records the changed data
   * time. `judge` may be called again for the same entry. Throws `MOBILITY_LEASE_LOST`.
   */
  move(userId: string, part: { at: number; limit: number }, lease: Lease, judge: Judge): Promise<Moved>;
  /** Finds pending entries as `Timeseries.find` finds moved ones. */
  find(userId: string, query: EntryQuery): Promise<EntryPage>;
  count(userId: string): Promise<number>;
  /** The keys of the pending entries, in any order. */
  keys(userId: string): Promise<string[]>;
}

/** Accepts a pending entry or rejects it. `ts`: the data time that queries find it by; null: none. Must be pure. */
export type Judge = (entry: Entry) => { ts: number | null } | { reason: string; message: string };

export interface FailedEntry extends Identity {
  reason: string;
  message: string;
}

export interface Moved {
  /** The accepted entries, also those whose content is unchanged. */
  moved: Identity[];
  inserted: number;
  updated: number;
  unchanged: number;
  failed: FailedEntry[];
  /** The data time that the move recorded as changed. */
  dirty: Dirty;
  /** True if further pending entries can be moved now, by another call. */
  more: boolean;
}

/**
 * A document that phones pull. The pipeline derives it from trips. User and key identify it. Pushed entries with the
 * same key are independent of it.
 */
export interface Document {
  key: string;
  /** Last change, seconds since the epoch. */
  write_ts: number;
  data: JsonValue;
}

export interface Documents {
  /**
   * In one transaction, in this order:
   * - removes the documents with the keys of `remove`. A key without a document is not an error.
   * - puts the documents of `put`. A document replaces the stored document with its key, unless their data are equal.
   * - merges `state` into the pipeline state. `release`: also releases the lease.
   *
   * Throws `MOBILITY_LEASE_LOST`.
   */
  apply(
    userId: string,
    change: { put: readonly Document[]; remove: readonly string[] },
    lease: Lease,
    end?: { state?: Partial<PipelineState>; release?: boolean },
  ): Promise<{ results: (PutResult | 'unchanged')[]; removed: number }>;
  /** All documents of the user by `write_ts`, then by key. */
  list(userId: string): Promise<Document[]>;
  /** The keys of all documents of the user, ascending. */
  keys(userId: string): Promise<string[]>;
}

/** A rejected entry, with the reason. */
export interface ErrorRow {
  /** Derived from the identity, or from the content if the entry has none. */
  id: string;
  /** The entry exactly as pushed (times in seconds). */
  entry: JsonValue;
  /** null: the entry has no usable key or no usable `write_ts`. */
  identity: Identity | null;
  reason: string;
  message: string;
  /** When the entry was first and last rejected, seconds since the epoch. */
  first_ts: number;
  last_ts: number;
  tries: number;
  /** The first receipt of the identity, seconds since the epoch. */
  received_ts: number;
}

export interface ErrorTimeseries {
  /**
   * Errors in ascending order of ids, after `after`. The list may be shorter than `limit`: only an empty list is the
   * end. `id`: only this error.
   */
  list(
    userId: string,
    page: { id?: string; key?: string; reason?: string; after?: string; limit: number },
  ): Promise<ErrorRow[]>;
  /** Counts by key and reason. Unusable entries without a key have the key null and come first. */
  summary(userId: string): Promise<{ key: string | null; reason: string; count: number }[]>;
  count(userId: string): Promise<number>;
  /**
   * Moves errors back to the usercache as `entry`. Returns how many. An entry that fails again keeps its `first_ts` and
   * its count of `tries`.
   * - If an entry with the identity is pending, the pending entry is newer: it stays, and the error is removed. If
   * several errors have one identity, the first counts.
   * - An error without identity may be older than the entry that the store has under the identity of `entry`. If the
   * stored entry was first received after the error's `last_ts`, the error is removed. Otherwise it is unknown which is
   * newer, and nothing changes.
   * - An error that no longer exists is ignored.
   */
  recover(userId: string, errors: readonly { id: string; entry: Entry }[]): Promise<number>;
  /** Stores errors as given, for imports. Skips an error if an entry with its identity is pending, which is newer. */
  put(userId: string, errors: readonly ErrorRow[]): Promise<void>;
  /** Removes errors. Returns the number of removed errors. */
  remove(userId: string, ids: readonly string[]): Promise<number>;
}

// ---------------------------------------------------------------- long term

/** A query for entries, as they were pushed, by their write time or data time. */
export interface EntryQuery {
  /** Missing: all keys. An empty list: no entries. */
  keys?: readonly string[];
  /** `ts`: the data time; for a pending entry, the `dataTime` of its payload. Entries without it are skipped. */
  time: 'write_ts' | 'ts';
  /** The range `[from, to)`; a missing bound is open. */
  from?: number;
  to?: number;
  /** Only entries at these times; missing: at all times. The ranges are ascending and do not touch. */
  within?: readonly TimeRange[];
  after?: EntryCursor;
  limit: number;
  descending?: boolean;
  /** The fields of metadata and payload that the caller needs. Other fields may be missing in the result. */
  fields?: readonly string[];
}

/** A position in the order of a query: by time, then key, then `write_ts`. An entry need not exist at the position. */
export interface EntryCursor {
  time: number;
  key: string;
  write_ts: number;
}

/** Nested values of the entries are shared: do not change them. */
export interface EntryPage {
  entries: Entry[];
  /** When the service first received each entry, seconds since the epoch. */
  received_ts: number[];
  /** The `after` of the next part; null at the end. */
  next: EntryCursor | null;
}

/** Facts about entries of one key that are stored together. */
export interface ChunkFacts {
  /** Data times of locations, ascending; empty for other entries. */
  times: number[];
  /** The source of all entries, see `sourceOf`. */
  source: string;
  /** s; the largest difference by which a `write_ts` is after the receipt of its entry; 0 if all are before it. */
  ahead: number;
  /** s; the largest difference by which a data time is after the `write_ts` of its entry; 0 if all are before it. */
  behind: number;
}

export interface Timeseries {
  /** Repeat the query with `after: next` until `next` is null. */
  find(userId: string, query: EntryQuery): Promise<EntryPage>;
  /**
   * Facts about all chunks that touch the range; null: some chunk has none, so the caller must read the entries.
   */
  facts(userId: string, query: Pick<EntryQuery, 'keys' | 'time' | 'from' | 'to'>): Promise<ChunkFacts[] | null>;
  /** The number of entries of each key and their first and last data time, by key. */
  summary(userId: string): Promise<{ key: string; count: number; first_ts: number | null; last_ts: number | null }[]>;
  /** The last entry at or before `writeTs` that names a valid zone, and the first after it. */
  zonesAround(userId: string, writeTs: number): Promise<{ before: ZoneSighting | null; after: ZoneSighting | null }>;
  /**
   * Removes the entries of `keys` whose time is before `before`: the data time, or `write_ts` of entries without a data
   * time. Adds no dirty range.
   * Returns how many were removed. Throws `MOBILITY_LEASE_LOST`.
   */
  remove(userId: string, old: { keys: readonly string[]; before: number }, lease: Lease): Promise<number>;
}

/** The chain of trips as the analysis stored it, without corrections. */
export interface Trips {
  /** Links of the chain by `chain_ts` in `[from, to)`, ascending. */
  chain(userId: string, range: { from?: number; to?: number; limit: number }): Promise<TripRecord[]>;
  /** The trips that have not ended, ascending. */
  drafts(userId: string): Promise<TripRecord[]>;
  /** The last link before the first link whose `settled_ts` is `ts` or later; null if there is none. */
  lastSettledBefore(userId: string, ts: number): Promise<TripRecord | null>;
  /** Trips by local start day, both days included, ascending; here and below without dropped trips. */
  byDay(userId: string, days: { from: string; to: string }): Promise<TripRecord[]>;
  /** The trips of `byDay`, without their content. */
  starts(userId: string, days: { from: string; to: string }): Promise<Pick<TripRecord, 'chain_ts' | 'day'>[]>;
  next(userId: string, chainTs: number): Promise<TripRecord | null>;
  previous(userId: string, chainTs: number): Promise<TripRecord | null>;
  /** The start of the first trip, the end of the last, and the number of trips. */
  summary(userId: string): Promise<{ count: number; start_ts: number | null; end_ts: number | null }>;
  /** The times of the trips with `chain_ts` in `[from, to)`, ascending. */
  spans(userId: string, range: { from: number; to: number }): Promise<TripSpan[]>;
  /** The times of the last two trips before `chainTs` and of the first three at or after it, ascending. */
  neighbours(userId: string, chainTs: number): Promise<TripSpan[]>;
  /**
   * Links in brief, ascending, from the last trip before `from` to the first link at or after `to`, both included.
   * Drafts only in `[from, to)`.
   */
  briefs(userId: string, range: TimeRange): Promise<BriefRecord[]>;
  /** The trips with these `chain_ts` in brief, ascending. */
  briefsAt(userId: string, chainTs: readonly number[]): Promise<BriefRecord[]>;
  /** The places that `apply` stored last; null: none were stored. */
  places(userId: string): Promise<JsonObject | null>;
  /**
   * In one transaction, in this order:
   * - removes all drafts if `drafts` is given, and the links with the `chain_ts` of `remove`.
   * - puts the links of `put` and `drafts`. A link replaces the stored link with the same `chain_ts`.
   * - if `places` is given, replaces the stored places; if `months` is given, replaces all stored figures of months.
   * - merges `state` into the pipeline state.
   *
   * Throws `MOBILITY_LEASE_LOST`.
   */
  apply(
    userId: string,
    change: {
      put: readonly TripRecord[];
      remove: readonly number[];
      drafts?: readonly TripRecord[];
      places?: JsonObject;
      months?: readonly { month: string; figures: JsonObject }[];
    },
    state: Partial<PipelineState>,
    lease: Lease,
  ): Promise<void>;
}

// ---------------------------------------------------------------- pipeline

export interface PipelineStates {
  get(userId: string): Promise<PipelineState>;
  /** The pipeline states of users by UUID. Users without an account are missing. */
  of(userIds: readonly string[]): Promise<Map<string, PipelineState>>;
  /** Merges fields into the state. Throws `MOBILITY_LEASE_LOST`. */
  merge(userId: string, fields: Partial<PipelineState>, lease: Lease): Promise<void>;
  /**
   * Which of `userIds` have pending entries that are due at time `at`, changed data time, or documents to derive.
   * `version`: also users with trips of another analysis version. May include users whose erasure has not ended.
   */
  withWork(userIds: readonly string[], at: number, version?: string): Promise<Set<string>>;
  /** Counts users with trips of another analysis version, and the days to derive again. */
  outdated(version: string, userId?: string): Promise<{ people: number; days: number }>;
}

/** One process at a time works on a user. */
export interface Leases {
  /** Acquires the lease unless another owner holds one that has not expired, by the store's clock. */
  acquire(
    userId: string,
    owner: string,
    seconds: number,
  ): Promise<{ lease: Lease; state: PipelineState } | { heldBy: Lease }>;
  /** Throws `MOBILITY_LEASE_LOST` if another owner has acquired the lease. */
  renew(lease: Lease, seconds: number): Promise<Lease>;
  /** A lost lease is not an error. */
  release(lease: Lease): Promise<void>;
  /** The unexpired lease on the user; null: there is none. */
  get(userId: string): Promise<Lease | null>;
}
