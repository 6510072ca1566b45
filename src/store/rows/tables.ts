// Every table of the store: format 1. A change of a table is a new format, see CONTRIBUTING.md.
import type { Table } from './rows.ts';

/** The format of these tables. A store of another format is refused. */
export const storeFormat = 1;

/** A registered user, see `UserRecord`. */
export interface PersonRow {
  uuid: string;
  user_email: string;
  update_ts: number;
  study: string | null;
  subgroup: string | null;
}
export const people: Table<PersonRow> = {
  name: 'people',
  columns: { uuid: 'text', user_email: 'text', update_ts: 'number', study: 'text?', subgroup: 'text?' },
  key: ['uuid'],
  indexes: [{ columns: ['user_email'], unique: true }],
  user: null,
};

/** A token, see `TokenRecord`. */
export interface TokenRow {
  hash: string;
  user: string;
  created_ts: number;
  expires_ts: number | null;
  kind: string | null;
  used_ts: number | null;
}
export const tokens: Table<TokenRow> = {
  name: 'tokens',
  columns: {
    hash: 'text',
    user: 'text',
    created_ts: 'number',
    expires_ts: 'number?',
    kind: 'text?',
    used_ts: 'number?',
  },
  key: ['hash'],
  indexes: [{ columns: ['user', 'created_ts'] }],
  user: null,
};

/** A study: its settings and its count of members, both JSON. */
export interface StudyRow {
  name: string;
  settings: string;
  joined: string;
}
export const studies: Table<StudyRow> = {
  name: 'studies',
  columns: { name: 'text', settings: 'text', joined: 'text' },
  key: ['name'],
  indexes: [],
  user: null,
};

/**
 * What every write about a user looks at: whether they may be written about, who holds their lease, and the state of
 * the pipeline.
 */
export interface AccountRow {
  user: string;
  /** `active`; `erasing`: an erasure has begun; `arriving`: a copy from another store has not ended. */
  stage: string;
  /** The number of the last lease; `owner` is null if nobody holds one. */
  fence: number;
  owner: string | null;
  expires_ts: number;
  seconds: number;
  /** 1 if data time changed or documents are due. */
  due: number;
  /** The version of the analysis that derived the trips; null before the first. */
  version: string | null;
  /** 1 if the timeseries had an entry that names a valid time zone; or one without that affects trips. */
  zoned: number;
  zoneless: number;
  /** JSON of the `PipelineState`. */
  state: string;
}
export const accounts: Table<AccountRow> = {
  name: 'accounts',
  columns: {
    user: 'text',
    stage: 'text',
    fence: 'number',
    owner: 'text?',
    expires_ts: 'number',
    seconds: 'number',
    due: 'number',
    version: 'text?',
    zoned: 'number',
    zoneless: 'number',
    state: 'text',
  },
  key: ['user'],
  indexes: [],
  user: 'user',
};

/** The profile of a user, JSON. */
export interface ProfileRow {
  user: string;
  profile: string;
}
export const profiles: Table<ProfileRow> = {
  name: 'profiles',
  columns: { user: 'text', profile: 'text' },
  key: ['user'],
  indexes: [],
  user: 'user',
};

/** Entries of one put that wait for the pipeline. Each identity waits in one batch at most. */
export interface BatchRow {
  user: string;
  /** Grows with every put of the user. */
  id: number;
  count: number;
  /** First and last `write_ts`. */
  first: number;
  last: number;
  /** First and last data time; null if no entry has one. */
  first_ts: number | null;
  last_ts: number | null;
  /** When the first of its entries may be processed, see `dueTime`. */
  due_ts: number;
  /** JSON of what it says of its entries without their content, see `Waiting`. */
  waiting: string;
  /** Packed JSON list of the entries. */
  entries: Uint8Array;
}
export const batches: Table<BatchRow> = {
  name: 'batches',
  columns: {
    user: 'text',
    id: 'number',
    count: 'number',
    first: 'number',
    last: 'number',
    first_ts: 'number?',
    last_ts: 'number?',
    due_ts: 'number',
    waiting: 'text',
    entries: 'bytes',
  },
  key: ['user', 'id'],
  indexes: [{ columns: ['user', 'last', 'first'] }, { columns: ['user', 'due_ts'] }],
  user: 'user',
};

/** An entry that was set aside, see `ErrorRow`. */
export interface SetAsideRow {
  user: string;
  id: string;
  /** The key that lists show; of an unusable entry what it names as its key. */
  key: string | null;
  /** With `key` the identity; null for an entry without one. */
  write_ts: number | null;
  reason: string;
  message: string;
  first_ts: number;
  last_ts: number;
  tries: number;
  received_ts: number;
  /** Packed JSON of the entry. */
  entry: Uint8Array;
}
export const errors: Table<SetAsideRow> = {
  name: 'errors',
  columns: {
    user: 'text',
    id: 'text',
    key: 'text?',
    write_ts: 'number?',
    reason: 'text',
    message: 'text',
    first_ts: 'number',
    last_ts: 'number',
    tries: 'number',
    received_ts: 'number',
    entry: 'bytes',
  },
  key: ['user', 'id'],
  indexes: [{ columns: ['user', 'write_ts'] }],
  user: 'user',
};

/**
 * Entries of the timeseries of one user, key and UTC day of `write_ts`. Their data times lie in one span of 30 days, or
 * they have none. A day of very many entries has several chunks.
 */
export interface ChunkRow {
  user: string;
  key: string;
  /** First and last `write_ts`. */
  first: number;
  last: number;
  /** First and last data time; null if the entries have none. */
  first_ts: number | null;
  last_ts: number | null;
  count: number;
  /** Entries with a valid time zone, and entries without one whose key affects trips. */
  zoned: number;
  zoneless: number;
  /** See `chunks/chunk.ts`. */
  entries: Uint8Array;
}
export const chunks: Table<ChunkRow> = {
  name: 'chunks',
  columns: {
    user: 'text',
    key: 'text',
    first: 'number',
    last: 'number',
    first_ts: 'number?',
    last_ts: 'number?',
    count: 'number',
    zoned: 'number',
    zoneless: 'number',
    entries: 'bytes',
  },
  key: ['user', 'first', 'key'],
  indexes: [{ columns: ['user', 'first_ts', 'key'] }],
  user: 'user',
};

/** A link of the chain of trips, see `TripRecord`. */
export interface TripRow {
  user: string;
  chain_ts: number;
  kind: string;
  start_ts: number;
  end_ts: number;
  day: string;
  settled_ts: number | null;
  written_ts: number;
  /** JSON of the `TripOutline`; null for a link that is no trip. */
  outline: string | null;
  /** Packed JSON of the `TripRecord`. */
  record: Uint8Array;
}
export const trips: Table<TripRow> = {
  name: 'trips',
  columns: {
    user: 'text',
    chain_ts: 'number',
    kind: 'text',
    start_ts: 'number',
    end_ts: 'number',
    day: 'text',
    settled_ts: 'number?',
    written_ts: 'number',
    outline: 'text?',
    record: 'bytes',
  },
  key: ['user', 'chain_ts'],
  indexes: [{ columns: ['user', 'day'] }, { columns: ['user', 'settled_ts'] }],
  user: 'user',
};

/** A document that the phone pulls, see `Document`. */
export interface DocumentRow {
  user: string;
  key: string;
  write_ts: number;
  /** Packed JSON. */
  data: Uint8Array;
}
export const documents: Table<DocumentRow> = {
  name: 'documents',
  columns: { user: 'text', key: 'text', write_ts: 'number', data: 'bytes' },
  key: ['user', 'key'],
  indexes: [],
  user: 'user',
};

/** Tables of one user's rows, in the order in which an erasure empties them. */
export const userTables: readonly Table<never>[] = [batches, documents, errors, profiles, chunks, trips] as never;

/** Every table. */
export const allTables: readonly Table<never>[] = [people, tokens, studies, accounts, ...userTables] as never;
