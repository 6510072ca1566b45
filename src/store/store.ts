// The Store interface and what each of its methods promises. Only keys, ranges and plain values cross it: no query
// language.
import type { Dirty } from '../model/dirty-range.ts';
import type { Document } from '../model/document.ts';
import type { Entry, Identity } from '../model/entry.ts';
import type { ErrorRow } from '../model/error-summary.ts';
import type { JsonObject, JsonValue } from '../model/json.ts';
import type { ManagerRecord } from '../model/manager.ts';
import type { MobilityError } from '../model/mobility-error.ts';
import type { Lease, PipelineState } from '../model/pipeline-state.ts';
import type { Enrolment, EnrolResult, StudyRecord, StudySettings } from '../model/study.ts';
import type { TimeRange } from '../model/time.ts';
import type { TripOutline, TripRecord, TripSpan, ZoneSighting } from '../model/trip.ts';
import type { RevokedWhy, TokenRecord, UserRecord } from '../model/user.ts';

export type { Dirty } from '../model/dirty-range.ts';
export type { Document } from '../model/document.ts';
export type { ErrorRow } from '../model/error-summary.ts';
export { initialPipelineState, type Lease, type PipelineState } from '../model/pipeline-state.ts';
export type { TripOutline, TripSpan, ZoneSighting } from '../model/trip.ts';

/**
 * Everything the service keeps. Users are named by UUID; only methods of `users`, `tokens`, `studies` and `managers`
 * read across users.
 *
 * Rows are written only about admitted users, from registration to erasure. Every method that writes checks this in its
 * own transaction. It rejects with `MOBILITY_USER_UNKNOWN` for other users, or with `MOBILITY_LEASE_LOST` if it works
 * under a lease.
 *
 * Every promise resolves after its effect is durable. After `close` every method rejects with `MOBILITY_STORE_CLOSED`.
 * If the disk is full, methods reject with `MOBILITY_STORE_FULL`; if the engine is unreachable, with
 * `MOBILITY_STORE_UNAVAILABLE`. No effect is partial.
 *
 * Every store sorts keys, names and ids with `compareTexts` (`text-order.ts`).
 */
export interface Store {
  /** The address it was opened with, without credentials. */
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
  /** Rows of one user in each collection. */
  counts(userId: string): Promise<Record<Collection, number>>;
  /**
   * Removes the user from every collection; returns the rows that there were in each. Repeatable after an interruption.
   * `keepRecord`: the row in `users` stays, so that a name finds the user until the caller has done the rest.
   * `keepTraces`: bytes of removed rows may stay in files until the next erasure without it, of any user.
   */
  erase(userId: string, how?: Erasure): Promise<Record<Collection, number>>;
  /** Users whose erasure, or copy from another store, has begun and not ended, by UUID. `erase` removes them. */
  unfinished(): Promise<Unfinished[]>;
  /** Resolves when a small write and a small read work. */
  ping(): Promise<void>;
  /** What the store takes on disk, and what is free there; null: the server does not report it. */
  disk(): Promise<{ bytes: number; free: number | null }>;
  /** The engine and its version: `SQLite 3.51.1`. */
  version(): Promise<string>;
  /** Finishes running calls and releases all resources. A second close does nothing. */
  close(): Promise<void>;
}

/** How much of an erasure is left to a later one; see `Store.erase`. */
export interface Erasure {
  keepRecord?: boolean;
  keepTraces?: boolean;
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
] as const;
/** The name of a part of the store that holds entries. */
export type Collection = (typeof collections)[number];

/** A user of whom the store has only a part. */
export interface Unfinished {
  user_id: string;
  stage: 'erasing' | 'arriving';
}

// ---------------------------------------------------------------- people

/** The registry of users. */
export interface UserRegistry {
  /**
   * Registers a name. A registered name keeps its UUID and gets a new `update_ts`. Throws `MOBILITY_USER_EXISTS` if
   * `uuid` is given and the name has another UUID or the UUID another name. Two concurrent registrations create one
   * user. `study` and `subgroup` are stored for a new user; a registered user keeps theirs. Also throws it for a user
   * whose erasure was interrupted: repeat the erasure first.
   */
  register(
    email: string,
    options: { uuid?: string; now: number; study?: string; subgroup?: string },
  ): Promise<{ user: UserRecord; created: boolean }>;
  byEmail(email: string): Promise<UserRecord | null>;
  byUuid(uuid: string): Promise<UserRecord | null>;
  /** False from the first step of an erasure on, and until a copy of the user is complete. */
  isActive(uuid: string): Promise<boolean>;
  /** What is kept about users, in one read: of one user, or of a page of users as in `list`. */
  figures(which: { uuid: string } | UserPage): Promise<PersonFigures[]>;
  /** Users by UUID, ascending: `everyUser` in `paging.ts` follows the pages of this and other lists. */
  list(page: UserPage): Promise<UserRecord[]>;
}

/** Users after the UUID `after`; with `study`, only its members. */
export interface UserPage {
  study?: string;
  after?: string;
  limit: number;
}

/**
 * What is kept about a user, from which `deriveStatus` derives their status. The profile holds, in seconds since the
 * epoch: `last_put_ts` and `last_stored_ts` (the last put, and the last that brought entries), `last_phone_data_ts`
 * (the newest `write_ts` of that), `last_located_ts` (the last put with a location), `last_location_ts` (the newest
 * location by the phone's clock), `last_usable_ts` (the last put with a location that trips can be made of),
 * `last_unusable_ts` (the last with other locations only, `last_unusable_why`: `inexact` or `misdated`),
 * `waiting_since_ts` (the first put with entries since the end of the last run), `last_fetch_ts` (a fetch of days or
 * trips, at most an hour before the last one), `last_refusal_ts` with its token and reason, and `last_limit_ts` with
 * the limit.
 */
export interface PersonFigures {
  user: UserRecord;
  registered_ts: number;
  /** Random; the audit log names the user by it. */
  audit_key: string;
  /** `erasing` and `arriving`: see `Store.unfinished`. */
  stage: 'active' | Unfinished['stage'];
  profile: JsonObject;
  /** Tokens of phones and scripts. */
  tokens: TokenRecord[];
  state: PipelineState;
  /** The last lease, even if it has expired; null: it was released. */
  lease: Lease | null;
  /** Pending entries; `ahead` of them wait until the time that their phone's clock showed. */
  waiting: { count: number; ahead: number; next_due_ts: number | null };
  /** Rejected entries by key and reason, and the time of the last. */
  set_aside: { key: string | null; reason: string; count: number; last_ts: number }[];
}

/** Tokens, kept by their hash. */
export interface Tokens {
  add(token: TokenRecord): Promise<void>;
  byHash(hash: string): Promise<TokenRecord | null>;
  /** The tokens of a user, also those that have expired or were revoked, by `created_ts`. */
  list(userId: string): Promise<TokenRecord[]>;
  /**
   * Revokes a token of the user; its record stays until the user is erased. False: there is none that is not revoked.
   */
  revoke(userId: string, hash: string, revoked: { ts: number; why: RevokedWhy }): Promise<boolean>;
  /** Records the last use of the token. An unknown token is not an error. */
  touch(hash: string, usedTs: number): Promise<void>;
}

/** Studies that people can join without an operator. */
export interface Studies {
  /** Creates the study or replaces its settings; the number of joins stays. */
  put(settings: StudySettings): Promise<void>;
  byName(name: string): Promise<StudyRecord | null>;
  /** The study that has this name among its `join_names`. */
  byJoinName(name: string): Promise<StudyRecord | null>;
  /** By name. */
  list(): Promise<StudyRecord[]>;
  /**
   * If the study admits the person and neither has its members nor those who joined in the last hour, creates account
   * and token. Atomic; a token of an existing account changes nothing, and two concurrent calls with one token create
   * one account.
   */
  enrol(enrolment: Enrolment): Promise<EnrolResult>;
  /** True for the hash of a token of the study whose owner was erased: it joins no more. */
  hasErased(study: string, hash: string): Promise<boolean>;
  /** Lets such a token join again; false if it is none. */
  readmit(study: string, hash: string): Promise<boolean>;
  /** Removes the study and the list of such tokens. If the study has members, removes nothing. Returns their number. */
  remove(name: string): Promise<number>;
  /**
   * Removes accounts of people who joined the study by its link at a time in `[from, to)` and of whom the store has no
   * entry, the first to join first. Returns them; fewer than `limit`: there are no more.
   */
  removeIdle(study: string, range: { from?: number; to?: number; limit: number }): Promise<UserRecord[]>;
}

/** People who look after studies. */
export interface Managers {
  byName(name: string): Promise<ManagerRecord | null>;
  /** By name. */
  list(): Promise<ManagerRecord[]>;
  /**
   * Puts what `change` makes of the record, null for none, in its place, and returns it. Atomic; it may call `change`
   * again.
   */
  change(name: string, change: (before: ManagerRecord | null) => ManagerRecord | null): Promise<ManagerRecord | null>;
}

/** A transit feed as the store keeps it. `id`: SHA-256 of the zip in hex; `index`: text that the caller understands. */
export interface FeedRecord {
  id: string;
  facts: JsonObject;
  index: string;
}

/** Transit feeds of the operator, which belong to no user. */
export interface Feeds {
  /** Keeps a feed with its zip. Interrupted, nothing of it is visible. A feed that is there is replaced. */
  add(feed: FeedRecord, zip: AsyncIterable<Uint8Array>): Promise<void>;
  /** All feeds, by id. `facts` is null for a feed that was removed: people near it are derived again. */
  list(): Promise<{ id: string; facts: JsonObject | null }[]>;
  index(id: string): Promise<string | null>;
  /** A part of the zip, the first is 1; null after the last. */
  part(id: string, number: number): Promise<Uint8Array | null>;
  /** False if there was none. */
  remove(id: string): Promise<boolean>;
}

/** What the app reports about itself, one object per user, without the user's id in it. */
export interface Profiles {
  get(userId: string): Promise<JsonObject | null>;
  /**
   * Sets the fields of `fields`, and fields of `defaults` that do not exist yet. Atomic. Returns the whole profile.
   */
  merge(userId: string, fields: JsonObject, defaults?: JsonObject): Promise<JsonObject>;
}

// ---------------------------------------------------------------- staging

/** The result of one entry of a put. */
export type PutResult = 'inserted' | 'updated';

/**
 * A pushed value that is rejected at once: an invalid entry, exactly as it came; or, with its `identity`, a valid entry
 * that may not become pending.
 */
export interface UnusableEntry {
  entry: JsonValue;
  /** Of a valid entry; missing if the value has none. */
  identity?: Identity;
  reason: string;
  message: string;
}

/** The content of one put. */
export interface PutBatch {
  entries: readonly Entry[];
  unusable: readonly UnusableEntry[];
  /**
   * The first receipt of each of `entries`, if another store recorded it; default: the known first receipt of the
   * identity, or now.
   */
  received_ts?: readonly (number | undefined)[];
  /** What the put writes into the profile of the user. */
  note?: ProfileNote;
}

/** Changes of a profile. */
export interface ProfileNote {
  /** Fields that get these values. */
  set: JsonObject;
  /** Numbers that replace smaller ones, and values that are no number. */
  raise?: Readonly<Record<string, number>>;
  /** Times that replace those not after the end of the last run of the pipeline, and values that are no number. */
  sinceRun?: Readonly<Record<string, number>>;
}

/** What became of a put. */
export interface PutOutcome {
  /** In the order of the entries. */
  results: PutResult[];
  /**
   * Why the note was not written, such as a damaged profile: the batch is stored nevertheless. null: it was written.
   */
  noteError: MobilityError | null;
}

/** The staging store: entries that phones pushed and that wait for the pipeline. */
export interface Usercache {
  /**
   * Stores a batch in one transaction: `entries` by identity (a later entry replaces an earlier one), `unusable` in the
   * error timeseries, once per content (a repetition counts as another attempt). One with an identity is stored as an
   * entry that arrived before `entries` and failed: it replaces its error and the pending entry, and keeps the
   * first receipt of the identity and its earlier failures. The caller leaves the batch as it is until then. A result
   * is `updated` if usercache, timeseries or error timeseries have the identity, or if it occurs earlier in the batch.
   * Atomic. The `note` is written after the batch or together with it: never if the batch is not stored.
   */
  put(userId: string, batch: PutBatch, now: number): Promise<PutOutcome>;
  /**
   * Moves waiting entries that may be processed at time `at`, oldest puts first, until `limit` of them were looked at:
   * one that `judge` accepts goes to the timeseries, any other to the error timeseries. Marks in the pipeline state
   * what that changes. All in one transaction; it may call `judge` again for the same entry. Throws
   * `MOBILITY_LEASE_LOST`.
   */
  move(userId: string, page: { at: number; limit: number }, lease: Lease, judge: Judge): Promise<Moved>;
  /** Waiting entries by time, like `Timeseries.find`. */
  find(userId: string, query: EntryQuery): Promise<EntryPage>;
  /** Number of waiting entries. */
  count(userId: string): Promise<number>;
  /** Keys of the waiting entries, in any order. */
  keys(userId: string): Promise<string[]>;
}

/** Decides on a waiting entry: accepts it, to be found by data time `ts`, or rejects it. Must be pure. */
export type Judge = (entry: Entry) => { ts: number | null } | { reason: string; message: string };

/** A rejected entry. */
export interface FailedEntry extends Identity {
  reason: string;
  message: string;
}

/** What a move did. */
export interface Moved {
  /** Identities that the timeseries has now: new, with new content, or with the same content as before. */
  moved: Identity[];
  inserted: number;
  updated: number;
  unchanged: number;
  failed: FailedEntry[];
  /** What the move marked in the pipeline state. */
  dirty: Dirty;
  /** True if more pending entries may be processed. */
  more: boolean;
}

/** Documents are derived from trips: they are stored with the trips and written under the same lease. */
export interface Documents {
  /**
   * Removes keys, ignoring those without a document; puts documents, each in place of the one with its key (of two, the
   * last one stays), but leaves one with the same data alone; merges `state` into the pipeline state and, with
   * `release`, releases the lease: all in one transaction. `results` are in the order of `put`. Throws
   * `MOBILITY_LEASE_LOST`.
   */
  apply(
    userId: string,
    change: { put: readonly Document[]; remove: readonly string[] },
    lease: Lease,
    end?: { state?: Partial<PipelineState>; release?: boolean },
  ): Promise<{ results: (PutResult | 'unchanged')[]; removed: number }>;
  /** All documents of the user by `write_ts`, then key. */
  list(userId: string): Promise<Document[]>;
  /** Keys present, sorted. */
  keys(userId: string): Promise<string[]>;
}

/** Rejected entries, with the reason. */
export interface ErrorTimeseries {
  /**
   * Errors by id, ascending, after `after`. A page of large entries may be shorter than `limit`: only an empty one is
   * the end. `id`: this error alone.
   */
  list(
    userId: string,
    page: { id?: string; key?: string; reason?: string; after?: string; limit: number },
  ): Promise<ErrorRow[]>;
  /** Counts by key and reason; unusable entries without a key have the key null and come first. */
  summary(userId: string): Promise<{ key: string | null; reason: string; count: number }[]>;
  /** How many errors the user has. */
  count(userId: string): Promise<number>;
  /**
   * Moves errors back to the usercache as `entry`, atomically. If the identity already waits there, its newer content
   * stays and the error is removed; of several errors with one identity the first counts. An error without identity may
   * be older than what usercache, timeseries or another error have under the identity of `entry`. It is removed if that
   * was first received after its `last_ts`; otherwise it is unknown which is newer, and all stays as it is. An error
   * that no longer exists is ignored. Returns the number of entries moved. An entry that fails again keeps its
   * `first_ts` and its count of `tries`.
   */
  recover(userId: string, errors: readonly { id: string; entry: Entry }[]): Promise<number>;
  /**
   * Stores errors exactly as given, with their history: for imports. Each replaces the error of the same id. An error
   * of an identity that waits is left out: the entry that waits is newer.
   */
  put(userId: string, errors: readonly ErrorRow[]): Promise<void>;
  /** Removes errors for good, and returns how many there were. */
  remove(userId: string, ids: readonly string[]): Promise<number>;
}

// ---------------------------------------------------------------- long term

/** A query for entries by one of their two times; the timeseries returns them as they came. */
export interface EntryQuery {
  /** Missing: all keys. An empty list: no entries. */
  keys?: readonly string[];
  /**
   * `write_ts`: the write time; `ts`: the data time, as its converter reads it, or `dataTime` of a waiting payload.
   * Entries without this time are left out.
   */
  time: 'write_ts' | 'ts';
  /** Half-open; a missing bound is open. */
  from?: number;
  to?: number;
  /** Ascending and apart from each other: only entries at these times. Missing: all. */
  within?: readonly TimeRange[];
  after?: EntryCursor;
  limit: number;
  descending?: boolean;
}

/**
 * Position in the order of a query: time, then key, then `write_ts`. The query returns entries after it. No entry needs
 * to have this position, and it need not come from the same query.
 */
export interface EntryCursor {
  time: number;
  key: string;
  write_ts: number;
}

/** A page of entries. Nested values are shared with a cache: do not change them. */
export interface EntryPage {
  entries: Entry[];
  /** When the service first received each of them, seconds since the epoch. */
  received_ts: number[];
  /** Where the next page begins; null at the end. */
  next: EntryCursor | null;
}

/** The long-term store of entries. They arrive by `Usercache.move`. */
export interface Timeseries {
  /** One page of entries. Every entry of a range is found by following `next`. */
  find(userId: string, query: EntryQuery): Promise<EntryPage>;
  get(userId: string, identity: Identity): Promise<Entry | null>;
  /** Count and first and last data time of each key, by key. */
  summary(userId: string): Promise<{ key: string; count: number; first_ts: number | null; last_ts: number | null }[]>;
  /**
   * The entries with a valid zone next to `writeTs`: the last at or before, the first after; equal times by key, the
   * smallest.
   */
  zonesAround(userId: string, writeTs: number): Promise<{ before: ZoneSighting | null; after: ZoneSighting | null }>;
  /**
   * Removes the entries of `keys` with a data time below `before`; where they have none, the `write_ts` counts. Returns
   * how many there were. Marks nothing as changed. Throws `MOBILITY_LEASE_LOST`.
   */
  remove(userId: string, old: { keys: readonly string[]; before: number }, lease: Lease): Promise<number>;
}

/** The chain of trips of each user, as the analysis stored it: corrections are applied above the store. */
export interface Trips {
  /** Links of the chain by `chain_ts` in `[from, to)`, ascending. */
  chain(userId: string, range: { from?: number; to?: number; limit: number }): Promise<TripRecord[]>;
  /** The trips after the chain that have not ended, ascending. */
  drafts(userId: string): Promise<TripRecord[]>;
  /** The last link such that it and all links before it have `settled_ts` below `ts`; null if there is none. */
  lastSettledBefore(userId: string, ts: number): Promise<TripRecord | null>;
  /** Trips (not dropped ones) by local start day, both ends included, ascending. */
  byDay(userId: string, days: { from: string; to: string }): Promise<TripRecord[]>;
  /** The starts of the trips (not dropped ones) of local start days, both ends included, by `chain_ts`. */
  starts(userId: string, days: { from: string; to: string }): Promise<Pick<TripRecord, 'chain_ts' | 'day'>[]>;
  /** The first trip (not dropped ones) that follows `chainTs`. */
  next(userId: string, chainTs: number): Promise<TripRecord | null>;
  /** The last trip (not dropped ones) before `chainTs`. */
  previous(userId: string, chainTs: number): Promise<TripRecord | null>;
  /** Start of the first and end of the last trip, and their number. */
  summary(userId: string): Promise<{ count: number; start_ts: number | null; end_ts: number | null }>;
  /** The times of the trips (not dropped ones) with `chain_ts` in `[from, to)`, ascending. */
  spans(userId: string, range: { from: number; to: number }): Promise<TripSpan[]>;
  /** The outlines of the links with these `chain_ts` that are trips (not dropped ones), ascending. */
  outlines(userId: string, chainTs: readonly number[]): Promise<TripOutline[]>;
  /** The places that were kept last, as `apply` got them; null: none were. */
  places(userId: string): Promise<JsonObject | null>;
  /**
   * Puts links, each in place of the one with its `chain_ts`; removes those with the `chain_ts` of `remove`; replaces
   * all drafts if `drafts` is given; keeps `places` in place of others; merges `state` into the pipeline state: all in
   * one transaction. Throws `MOBILITY_LEASE_LOST`.
   */
  apply(
    userId: string,
    change: {
      put: readonly TripRecord[];
      remove: readonly number[];
      drafts?: readonly TripRecord[];
      places?: JsonObject;
    },
    state: Partial<PipelineState>,
    lease: Lease,
  ): Promise<void>;
}

// ---------------------------------------------------------------- the pipeline's own

/** The pipeline's state for each user. */
export interface PipelineStates {
  get(userId: string): Promise<PipelineState>;
  /** The states of several users, by UUID; a user without an account has none. */
  of(userIds: readonly string[]): Promise<Map<string, PipelineState>>;
  /** Merges fields into the state. Throws `MOBILITY_LEASE_LOST`. */
  merge(userId: string, fields: Partial<PipelineState>, lease: Lease): Promise<void>;
  /**
   * The users of `userIds` with waiting entries to process at time `at`, changed data time, or documents due; with
   * `version`, also those with trips of another version of the analysis. Also names users whose erasure has not ended.
   */
  withWork(userIds: readonly string[], at: number, version?: string): Promise<Set<string>>;
  /** Users with trips of another version of the analysis, and how many days these have; of all, or of one user. */
  outdated(version: string, userId?: string): Promise<{ people: number; days: number }>;
}

/** Leases: one process at a time works on a user. */
export interface Leases {
  /**
   * Takes the lease unless another owner holds an unexpired one. Atomic, by the store's clock. Also returns the state
   * of the pipeline, which only the owner of the lease changes.
   */
  acquire(
    userId: string,
    owner: string,
    seconds: number,
  ): Promise<{ lease: Lease; state: PipelineState } | { heldBy: Lease }>;
  /** Extends the lease. Throws `MOBILITY_LEASE_LOST` if another owner has taken over. */
  renew(lease: Lease, seconds: number): Promise<Lease>;
  /** Releases the lease; a lost lease is not an error. */
  release(lease: Lease): Promise<void>;
  /** The unexpired lease on the user. */
  get(userId: string): Promise<Lease | null>;
}
