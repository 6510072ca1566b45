import type { Dirty } from '../model/dirty-range.ts';
import type { Entry, Identity } from '../model/entry.ts';
import type { JsonObject, JsonValue } from '../model/json.ts';
import type { ManagerRecord } from '../model/manager.ts';
import type { MobilityError } from '../model/mobility-error.ts';
import type { Lease, PipelineState } from '../model/pipeline-state.ts';
import type { Enrolment, EnrolResult, StudyRecord, StudySettings } from '../model/study.ts';
import type { DayRange, TimeRange } from '../model/time.ts';
import type { BriefRecord, TripRecord, TripSpan, ZoneSighting } from '../model/trip.ts';
import type { RevokedWhy, TokenRecord, UserRecord } from '../model/user.ts';

export { initialPipelineState, type Lease, type PipelineState } from '../model/pipeline-state.ts';

/**
 * All data of the service. UUIDs name users. `compareTexts` sorts keys, names and ids.
 *
 * Every method that writes about a user checks in its own transaction that the user is admitted:
 * registered, and not being erased. Otherwise it rejects with `MOBILITY_USER_UNKNOWN`, or with
 * `MOBILITY_LEASE_LOST` if it takes a lease.
 *
 * Every promise resolves after its effect is durable, and no effect is partial. Methods may reject
 * with `MOBILITY_STORE_FULL`, `_UNAVAILABLE`, `_BUSY`, `_DAMAGED`, and `_CLOSED` (after `close`).
 */
export interface Store {
  /** The address of the store without user name and password. */
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
  /** Returns how many rows or entries each collection had. Repeat the call after a failure. */
  erase(userId: string, how?: Erasure): Promise<Record<Collection, number>>;
  /** Returns the users who are only partly erased, or only partly copied from another store. */
  unfinished(): Promise<Unfinished[]>;
  ping(): Promise<void>;
  /** Returns the size of the store and the free space of its disk in bytes; null: not reported. */
  disk(): Promise<{ bytes: number; free: number | null }>;
  version(): Promise<string>;
  /** Waits for running calls, then closes the store. A second call does nothing. */
  close(): Promise<void>;
}

export interface Erasure {
  /** Keeps the row in `users`, for a caller that still needs the name and erases again. */
  keepRecord?: boolean;
  /** Leaves bytes of removed rows in the files, until an erasure without `keepTraces`. */
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

/** A user whose data are incomplete. `erase` removes them. */
export interface Unfinished {
  user_id: string;
  stage: 'erasing' | 'arriving';
}

export interface UserRegistry {
  /**
   * Registers a name. If it is registered, only `update_ts` changes. Throws `MOBILITY_USER_EXISTS`
   * if the name has another UUID or the UUID another name, or if an erasure has to be repeated.
   */
  register(
    email: string,
    options: { uuid?: string; now: number; study?: string; subgroup?: string },
  ): Promise<{ user: UserRecord; created: boolean }>;
  byEmail(email: string): Promise<UserRecord | null>;
  byUuid(uuid: string): Promise<UserRecord | null>;
  /** False once an erasure has begun, and until a copy from another store is complete. */
  isActive(uuid: string): Promise<boolean>;
  figures(which: { uuid: string } | UserPage): Promise<PersonFigures[]>;
  list(page: UserPage): Promise<UserRecord[]>;
  months(page: UserPage, month: string): Promise<MemberMonth[]>;
}

/** The first `limit` users by UUID, after the UUID `after`. With `study`, only its members. */
export interface UserPage {
  study?: string;
  after?: string;
  limit: number;
}

export interface MemberMonth extends Pick<PersonFigures, 'registered_ts' | 'audit_key'> {
  user_id: string;
  /** null: `Trips.apply` stored none, or entries that arrived later may change them. */
  figures: JsonObject | null;
  /** Changes whenever the data of the user change. */
  revision: string;
}

/**
 * Facts about a user, from which `deriveStatus` derives the status. Times in the profile:
 * - `last_put_ts`: the last put. `last_stored_ts`: the last put with entries.
 * - `last_phone_data_ts`: the newest `write_ts` of the last put with entries.
 * - `last_located_ts`: the last put with a location.
 * - `last_location_ts`: the newest data time of a location.
 * - `last_usable_ts`: the last put with a location that trips can be made of.
 * - `last_unusable_ts`: the last put with locations of which none is usable.
 * - `last_unusable_why`: why most such locations are not usable: `inexact` or `misdated`.
 * - `waiting_since_ts`: the first put with entries since the end of the last run.
 * - `last_fetch_ts`: a fetch of days or trips, at most an hour before the last fetch.
 * - `last_refusal_ts`: the last refused token. `last_limit_ts`: the last exceeded limit.
 */
export interface PersonFigures {
  user: UserRecord;
  registered_ts: number;
  /** A random text that names the user in the audit log. */
  audit_key: string;
  stage: 'active' | Unfinished['stage'];
  profile: JsonObject;
  /** Tokens for phones and scripts. */
  tokens: TokenRecord[];
  state: PipelineState;
  /** The last lease, even if it has expired; null: there was none, or it was released. */
  lease: Lease | null;
  /**
   * Pending entries. `ahead`: the number of entries that the move leaves until the time of their
   * `write_ts`. `next_due_ts`: the earliest such time.
   */
  waiting: { count: number; ahead: number; next_due_ts: number | null };
  /** Rejected entries by key and reason. `last_ts`: the time of the last rejection. */
  set_aside: { key: string | null; reason: string; count: number; last_ts: number }[];
}

export interface Tokens {
  add(token: TokenRecord): Promise<void>;
  byHash(hash: string): Promise<TokenRecord | null>;
  /** Returns all tokens by `created_ts`, also expired and revoked tokens. */
  list(userId: string): Promise<TokenRecord[]>;
  /** Keeps the record. Returns false if the user has no such token, or if it is revoked already. */
  revoke(userId: string, hash: string, revoked: { ts: number; why: RevokedWhy }): Promise<boolean>;
  /** Records the last use. Ignores an unknown token. */
  touch(hash: string, usedTs: number): Promise<void>;
}

export interface Studies {
  /** Creates the study or replaces its settings. The number of joins stays. */
  put(settings: StudySettings): Promise<void>;
  byName(name: string): Promise<StudyRecord | null>;
  byJoinName(name: string): Promise<StudyRecord | null>;
  list(): Promise<StudyRecord[]>;
  /** Creates an account if the study allows it, and if the token does not have an account yet. */
  enrol(enrolment: Enrolment): Promise<EnrolResult>;
  /** True if the owner of the token was erased: the token cannot join the study again. */
  hasErased(study: string, hash: string): Promise<boolean>;
  /** Lets a token of an erased owner join again. Returns false if the token could join already. */
  readmit(study: string, hash: string): Promise<boolean>;
  /** Removes the study if it has no members. Returns the number of its members. */
  remove(name: string): Promise<number>;
  /**
   * Removes up to `limit` accounts of people who joined the study by its link in `[from, to)` and
   * have no entry, the earliest first. Returns the removed accounts. If they are fewer than
   * `limit`, no such account is left.
   */
  removeIdle(study: string, range: { from?: number; to?: number; limit: number }): Promise<UserRecord[]>;
}

export interface Managers {
  byName(name: string): Promise<ManagerRecord | null>;
  list(): Promise<ManagerRecord[]>;
  /** Replaces the record by the result of `change`; null: removes the record. May repeat `change`. */
  change(name: string, change: (before: ManagerRecord | null) => ManagerRecord | null): Promise<ManagerRecord | null>;
}

/** `id`: SHA-256 of the zip in hex. `index`: a text that only the caller interprets. */
export interface FeedRecord {
  id: string;
  facts: JsonObject;
  index: string;
}

export interface Feeds {
  /** Replaces a feed with the same id. After an interruption, no part of it is visible. */
  add(feed: FeedRecord, zip: AsyncIterable<Uint8Array>): Promise<void>;
  /** `facts` is null for a removed feed: trips near it must be derived again. */
  list(): Promise<{ id: string; facts: JsonObject | null }[]>;
  index(id: string): Promise<string | null>;
  /** Returns a part of the zip; null after the last part. The first part has the number 1. */
  part(id: string, number: number): Promise<Uint8Array | null>;
  /** Returns false if no feed has this id. */
  remove(id: string): Promise<boolean>;
}

/** A profile is one object per user, which does not contain the user's id. */
export interface Profiles {
  get(userId: string): Promise<JsonObject | null>;
  /**
   * Replaces `fields`, and sets missing fields from `defaults`. Returns the whole profile. If
   * `fields` is a function, it gets the stored profile and may be called several times.
   */
  merge(
    userId: string,
    fields: JsonObject | ((before: JsonObject) => JsonObject),
    defaults?: JsonObject,
  ): Promise<JsonObject>;
}

export type PutResult = 'inserted' | 'updated';

/** A pushed value that the put rejects. */
export interface UnusableEntry {
  /** Exactly as it was pushed. */
  entry: JsonValue;
  /** The identity of a valid entry that must not become pending; missing: the entry is invalid. */
  identity?: Identity;
  reason: string;
  message: string;
}

export interface PutContent {
  entries: readonly Entry[];
  unusable: readonly UnusableEntry[];
  /** When another store first received each entry. Default: the known first receipt, or now. */
  received_ts?: readonly (number | undefined)[];
  note?: ProfileNote;
}

/** Changes of a profile, by field. `PersonFigures` lists the fields. */
export interface ProfileNote {
  set: JsonObject;
  /** Each value replaces the stored value if the stored value is smaller or not a number. */
  raise?: Readonly<Record<string, number>>;
  /** Each time replaces the stored time if the stored time is before the end of the last run, or missing. */
  sinceRun?: Readonly<Record<string, number>>;
}

export interface PutOutcome {
  results: PutResult[];
  /** Why the note was not written, such as a damaged profile. Everything else is stored. */
  noteError: MobilityError | null;
}

export interface Usercache {
  /**
   * Stores the content of a put in one transaction.
   * - `entries` by identity: a later entry replaces an earlier one.
   * - `unusable` in the error timeseries, once per content: a repetition counts as another attempt.
   * - `note` in the profile.
   *
   * An unusable entry that has an identity replaces the pending entry and the error of this identity.
   * The new error keeps the first receipt and the number of failures. If the same put has a usable
   * entry with the identity, only the usable entry is stored.
   *
   * A result is `updated` if the store has the identity, or if it occurs earlier in the put. The
   * caller must not change the content before the promise settles.
   */
  put(userId: string, content: PutContent, now: number): Promise<PutOutcome>;
  /**
   * Moves pending entries that are due at time `at`, oldest puts first, until `limit` entries were
   * judged: accepted entries to the timeseries, others to the error timeseries. The pipeline state
   * records the changed data time. May judge an entry repeatedly. Throws `MOBILITY_LEASE_LOST`.
   */
  move(userId: string, due: { at: number; limit: number }, lease: Lease, judge: Judge): Promise<Moved>;
  find(userId: string, query: EntryQuery): Promise<EntryPage>;
  count(userId: string): Promise<number>;
  keys(userId: string): Promise<string[]>;
}

/** Accepts or rejects an entry. `ts`: the data time by which queries find it. Must be pure. */
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
  dirty: Dirty;
  /** True if another call can move further entries now. */
  more: boolean;
}

/** The pipeline derives documents for phones from trips. Pushed entries never change documents. */
export interface Document {
  key: string;
  write_ts: number;
  data: JsonValue;
}

export interface Documents {
  /**
   * In one transaction, in this order:
   * - removes the documents of `remove`. A key without a document is not an error.
   * - puts the documents of `put`, unless the stored document with the key has equal data.
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
  /** Returns the documents by `write_ts`, then by key. */
  list(userId: string): Promise<Document[]>;
  keys(userId: string): Promise<string[]>;
}

/** A rejected entry. Times are seconds since the epoch. */
export interface ErrorRow {
  /** The id is derived from the identity, or from the content if the entry has no identity. */
  id: string;
  /** The entry exactly as pushed, but times are in seconds. */
  entry: JsonValue;
  /** null: the entry has no usable key or no usable `write_ts`. */
  identity: Identity | null;
  reason: string;
  message: string;
  first_ts: number;
  last_ts: number;
  tries: number;
  received_ts: number;
}

export interface ErrorTimeseries {
  /** Returns errors by ascending id. A page may be short: only an empty list is the end. */
  list(
    userId: string,
    page: { id?: string; key?: string; reason?: string; after?: string; limit: number },
  ): Promise<ErrorRow[]>;
  count(userId: string): Promise<number>;
  /**
   * Moves errors back to the usercache as `entry`. Returns the number of moved errors. An entry
   * that fails again keeps its `first_ts` and its count of `tries`.
   * - If an entry with the identity is pending, it is newer: it stays, and the error is removed. If
   * several errors have one identity, the first counts.
   * - An error without identity may be older than the entry that the store has under the identity
   * of `entry`. If that entry was first received after the error's `last_ts`, the error is removed.
   * Otherwise it is unknown which is newer, and nothing changes.
   * - An error that no longer exists, or was replaced since it was read, is ignored.
   */
  recover(userId: string, errors: readonly RecoveredError[]): Promise<number>;
  /** Stores errors of an import. Skips an error if a pending, newer entry has its identity. */
  put(userId: string, errors: readonly ErrorRow[]): Promise<void>;
  /** Removes errors whose last rejection was before `before`. */
  remove(userId: string, ids: readonly string[], before: number): Promise<number>;
}

/** `last_ts` and `tries`: as read. A put may since have replaced the error by one with the same id. */
export type RecoveredError = Pick<ErrorRow, 'id' | 'last_ts' | 'tries'> & { entry: Entry };

export interface EntryQuery {
  /** Only entries with these keys. Missing: all keys; an empty list: no entries. */
  keys?: readonly string[];
  /** The time to select and sort by. `ts`: the data time; entries without it are skipped. */
  time: 'write_ts' | 'ts';
  /** The range `[from, to)`; a missing bound is open. */
  from?: number;
  to?: number;
  /** Only entries at these times. The ranges are ascending and do not touch. */
  within?: readonly TimeRange[];
  after?: EntryCursor;
  limit: number;
  descending?: boolean;
  /** The needed fields. Other fields of metadata and payload may be missing in the result. */
  fields?: readonly string[];
}

/** A position in the order by time, key and `write_ts`. An entry need not exist there. */
export interface EntryCursor {
  time: number;
  key: string;
  write_ts: number;
}

/** The store may use the entries again: do not change them. */
export interface EntryPage {
  entries: Entry[];
  /** When the service first received each entry, seconds since the epoch. */
  received_ts: number[];
  next: EntryCursor | null;
}

/** Facts about entries of one key that are stored together. */
export interface ChunkFacts {
  /** Data times of locations, ascending; empty for other entries. */
  times: number[];
  /** The source of all entries, see `sourceOf`. */
  source: string;
  /** s; the longest time from the receipt of an entry to its `write_ts`; 0 if none is later. */
  ahead: number;
  /** s; the longest time from the `write_ts` of an entry to its data time; 0 if none is later. */
  behind: number;
}

export interface Timeseries {
  /** Repeat the query with `after: next` until `next` is null. */
  find(userId: string, query: EntryQuery): Promise<EntryPage>;
  /** Returns facts about all chunks in the range; null: the caller must read the entries. */
  facts(userId: string, query: Pick<EntryQuery, 'keys' | 'time' | 'from' | 'to'>): Promise<ChunkFacts[] | null>;
  /** Returns the number of entries of each key, and their first and last data time. */
  summary(userId: string): Promise<{ key: string; count: number; first_ts: number | null; last_ts: number | null }[]>;
  /** Finds the nearest entries that name a valid zone: at or before `writeTs`, and after it. */
  zonesAround(userId: string, writeTs: number): Promise<{ before: ZoneSighting | null; after: ZoneSighting | null }>;
  /**
   * Removes the entries of `keys` whose data time, or else `write_ts`, is before `before`. Adds no
   * dirty range. Returns the number of removed entries. Throws `MOBILITY_LEASE_LOST`.
   */
  remove(userId: string, old: { keys: readonly string[]; before: number }, lease: Lease): Promise<number>;
}

/** The trip chain as the analysis stored it, without corrections. Lists are in order of time. */
export interface Trips {
  /** Returns the links with `chain_ts` in `[from, to)`. */
  chain(userId: string, range: { from?: number; to?: number; limit: number }): Promise<TripRecord[]>;
  drafts(userId: string): Promise<TripRecord[]>;
  /** Returns the last link before the first link whose `settled_ts` is `ts` or later. */
  lastSettledBefore(userId: string, ts: number): Promise<TripRecord | null>;
  /** Returns the trips that start on these local days. Drafts and dropped links are not trips. */
  byDay(userId: string, days: DayRange): Promise<TripRecord[]>;
  starts(userId: string, days: DayRange): Promise<Pick<TripRecord, 'chain_ts' | 'day'>[]>;
  next(userId: string, chainTs: number): Promise<TripRecord | null>;
  previous(userId: string, chainTs: number): Promise<TripRecord | null>;
  summary(userId: string): Promise<{ count: number; start_ts: number | null; end_ts: number | null }>;
  /** Returns the times of the trips with `chain_ts` in `[from, to)`. */
  spans(userId: string, range: { from: number; to: number }): Promise<TripSpan[]>;
  /** Returns the last two trips before `chainTs`, and the first three at or after it. */
  neighbours(userId: string, chainTs: number): Promise<TripSpan[]>;
  /**
   * Returns links, also dropped links, from the last trip before the range to the first link after
   * it. Leaves out drafts before and after the range.
   */
  briefs(userId: string, range: TimeRange): Promise<BriefRecord[]>;
  briefsAt(userId: string, chainTs: readonly number[]): Promise<BriefRecord[]>;
  places(userId: string): Promise<JsonObject | null>;
  /**
   * In one transaction, in this order:
   * - removes all drafts if `drafts` is given, and the links with the `chain_ts` of `remove`.
   * - puts `put` and `drafts`, which replace stored links with the same `chain_ts`.
   * - replaces the stored places and all stored figures of months, if given.
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

export interface PipelineStates {
  get(userId: string): Promise<PipelineState>;
  /** The keys of the map are UUIDs. Users without an account are missing. */
  of(userIds: readonly string[]): Promise<Map<string, PipelineState>>;
  /** Throws `MOBILITY_LEASE_LOST`. */
  merge(userId: string, fields: Partial<PipelineState>, lease: Lease): Promise<void>;
  /**
   * Returns the users with pending entries that are due at `at`, a dirty range, or documents to
   * derive. With `version`, also users with trips of other versions. May include users in erasure.
   */
  withWork(userIds: readonly string[], at: number, version?: string): Promise<Set<string>>;
  /** Counts users with trips of another analysis version, and the days to derive again. */
  outdated(version: string, userId?: string): Promise<{ people: number; days: number }>;
}

/** A lease lets one process at a time work on a user. */
export interface Leases {
  /** `heldBy`: another owner holds a lease that has not expired by the store's clock. */
  acquire(
    userId: string,
    owner: string,
    seconds: number,
  ): Promise<{ lease: Lease; state: PipelineState } | { heldBy: Lease }>;
  /** Throws `MOBILITY_LEASE_LOST` if another owner has acquired the lease. */
  renew(lease: Lease, seconds: number): Promise<Lease>;
  /** Ends the lease early. A lost lease is not an error. */
  release(lease: Lease): Promise<void>;
  /** Returns the unexpired lease on the user; null: there is none. */
  get(userId: string): Promise<Lease | null>;
}
