// Every table of the store: format 1. Until the first release they change in place, see CONTRIBUTING.md.
import type { ColumnKind, Table } from './rows.ts';

/** The format of the tables below. A store of another format is refused. */
export const storeFormat = 1;

/** A registered user, see `UserRecord`. */
export const people = table('people', {
  columns: {
    uuid: 'text',
    user_email: 'text',
    update_ts: 'number',
    study: 'text?',
    subgroup: 'text?',
    joined_ts: 'number?',
    sent_ts: 'number?',
  },
  key: ['uuid'],
  indexes: [
    { columns: ['user_email'], unique: true },
    { columns: ['study', 'uuid'] },
    { columns: ['study', 'joined_ts'] },
    { columns: ['study', 'sent_ts', 'joined_ts'] },
  ],
});

/** A token, also one that was revoked, see `TokenRecord`. */
export const tokens = table('tokens', {
  columns: {
    hash: 'text',
    user: 'text',
    created_ts: 'number',
    expires_ts: 'number?',
    kind: 'text?',
    used_ts: 'number?',
    revoked_ts: 'number?',
    revoked_why: 'text?',
  },
  key: ['hash'],
  indexes: [{ columns: ['user', 'created_ts'] }],
});

/** A study: its settings, JSON; and the number of joins, so that two joins at once write the same row. */
export const studies = table('studies', {
  columns: { name: 'text', settings: 'text', joins: 'number' },
  key: ['name'],
});

/** A study token whose owner was erased: 64 bits of its SHA-256, as hex. It never joins again. */
export const erasedTokens = table('erased_tokens', {
  columns: { study: 'text', token: 'text' },
  key: ['study', 'token'],
});

/** An account of a manager: JSON of the `ManagerRecord`. */
export const managers = table('managers', {
  columns: { name: 'text', record: 'text' },
  key: ['name'],
});

/** A transit feed: JSON of its facts, and its packed index. The row comes last: a feed without it does not exist. */
export const feeds = table('feeds', {
  columns: { id: 'text', facts: 'text', index: 'bytes' },
  key: ['id'],
});

/** A part of the zip of a feed. `part`: the id of the feed and a number, `ab12…/0003`. */
export const feedParts = table('feed_parts', {
  columns: { part: 'text', feed: 'text', bytes: 'bytes' },
  key: ['part'],
  indexes: [{ columns: ['feed', 'part'] }],
});

/**
 * What every write about a user looks at: whether they may be written about, who holds their lease, and the state of
 * the pipeline.
 */
export const accounts = table('accounts', {
  columns: {
    user: 'text',
    registered_ts: 'number',
    /** Names the user in the audit log. */
    audit_key: 'text',
    /** `active`; `erasing`: an erasure has begun; `arriving`: a copy from another store has not ended. */
    stage: 'text',
    /** The number of the last lease. */
    fence: 'number',
    /** The owner of the lease; null: there is none. */
    owner: 'text?',
    expires_ts: 'number',
    seconds: 'number',
    /** 1 if data time changed or documents are due. */
    due: 'number',
    /** The version of the analysis that derived the trips; null before the first. */
    version: 'text?',
    /** 1 if the timeseries had an entry that names a valid time zone; or one without that affects trips. */
    zoned: 'number',
    zoneless: 'number',
    /** 1 when entries of the user were ever stored, see `UserRecord.sent_ts`: a put reads this row in any case. */
    sent: 'number',
    /** JSON of the `PipelineState`. */
    state: 'text',
  },
  key: ['user'],
  user: 'user',
});

/** When a copy from another store brought a user; users who registered here have none. */
export const arrivals = table('arrivals', {
  columns: { user: 'text', arrived_ts: 'number' },
  key: ['user'],
  user: 'user',
});

/** The profile of a user, JSON. */
export const profiles = table('profiles', {
  columns: { user: 'text', profile: 'text' },
  key: ['user'],
  user: 'user',
});

/** Entries of one put that wait for the pipeline. Each identity waits in one batch at most. */
export const batches = table('batches', {
  columns: {
    user: 'text',
    /** Grows with every put of the user. */
    id: 'number',
    count: 'number',
    /** First and last `write_ts`. */
    first: 'number',
    last: 'number',
    /** First and last data time; null if no entry has one. */
    first_ts: 'number?',
    last_ts: 'number?',
    /** When the first of its entries may be processed, see `dueTime`. */
    due_ts: 'number',
    /** JSON of the `BatchHeader`. */
    waiting: 'text',
    /** Packed JSON list of the entries. */
    entries: 'bytes',
  },
  key: ['user', 'id'],
  indexes: [{ columns: ['user', 'last', 'first'] }, { columns: ['user', 'due_ts'] }],
  user: 'user',
});

/** A rejected entry, see `ErrorRow`. */
export const errors = table('errors', {
  columns: {
    user: 'text',
    id: 'text',
    /** The key that lists show; of an unusable entry what it names as its key. */
    key: 'text?',
    /** With `key` the identity; null for an entry without one. */
    write_ts: 'number?',
    reason: 'text',
    message: 'text',
    first_ts: 'number',
    last_ts: 'number',
    tries: 'number',
    received_ts: 'number',
    /** Packed JSON of the entry. */
    entry: 'bytes',
  },
  key: ['user', 'id'],
  indexes: [{ columns: ['user', 'write_ts'] }],
  user: 'user',
});

/**
 * Entries of the timeseries of one user, key and UTC day of `write_ts`. Their data times lie in one span of 30 days, or
 * they have none. A day of very many entries has several chunks.
 */
export const chunks = table('chunks', {
  columns: {
    user: 'text',
    key: 'text',
    /** First and last `write_ts`. */
    first: 'number',
    last: 'number',
    /** First and last data time; null if the entries have none. */
    first_ts: 'number?',
    last_ts: 'number?',
    count: 'number',
    /** Entries with a valid time zone, and entries without one whose key affects trips. */
    zoned: 'number',
    zoneless: 'number',
    /** See `chunks/chunk.ts`. */
    entries: 'bytes',
  },
  key: ['user', 'first', 'key'],
  indexes: [{ columns: ['user', 'first_ts', 'key'] }, { columns: ['user', 'key', 'first'] }],
  user: 'user',
});

/** A link of the chain of trips, see `TripRecord`. */
export const trips = table('trips', {
  columns: {
    user: 'text',
    chain_ts: 'number',
    kind: 'text',
    start_ts: 'number',
    end_ts: 'number',
    day: 'text',
    /** Infinite while it is not settled. */
    settled_ts: 'number',
    written_ts: 'number',
    /** JSON of the `TripOutline`; null for a link that is no trip. */
    outline: 'text?',
    /** Packed JSON of the `TripRecord`. */
    record: 'bytes',
  },
  key: ['user', 'chain_ts'],
  indexes: [{ columns: ['user', 'day'] }, { columns: ['user', 'settled_ts'] }],
  user: 'user',
});

/** The places of a user up to a time; packed JSON of the `KeptPlaces`. */
export const places = table('places', {
  columns: { user: 'text', places: 'bytes' },
  key: ['user'],
  indexes: [],
  user: 'user',
});

/** A document that the phone pulls, see `Document`; `data`: packed JSON. */
export const documents = table('documents', {
  columns: { user: 'text', key: 'text', write_ts: 'number', data: 'bytes' },
  key: ['user', 'key'],
  user: 'user',
});

/** A row of `people`. */
export type PersonRow = RowOf<typeof people>;
/** A row of `tokens`. */
export type TokenRow = RowOf<typeof tokens>;
/** A row of `accounts`. */
export type AccountRow = RowOf<typeof accounts>;
/** A row of `batches`. */
export type BatchRow = RowOf<typeof batches>;
/** A row of `errors`. */
export type RejectedRow = RowOf<typeof errors>;
/** A row of `chunks`. */
export type ChunkRow = RowOf<typeof chunks>;
/** A row of `trips`. */
export type TripRow = RowOf<typeof trips>;
/** A row of `documents`. */
export type DocumentRow = RowOf<typeof documents>;

/** Tables of one user's rows, in the order in which an erasure empties them. */
export const userTables: readonly Table<never>[] = [
  batches,
  documents,
  errors,
  profiles,
  chunks,
  trips,
  places,
] as never;

/** Every table. */
export const allTables: readonly Table<never>[] = [
  people,
  tokens,
  studies,
  erasedTokens,
  managers,
  feeds,
  feedParts,
  accounts,
  arrivals,
  ...userTables,
] as never;

type RowOf<T> = T extends Table<infer Row> ? Row : never;

/** The values of a column by its kind. */
interface Values {
  text: string;
  'text?': string | null;
  number: number;
  'number?': number | null;
  bytes: Uint8Array;
}

type Made<Columns extends Record<string, ColumnKind>> = {
  -readonly [Column in keyof Columns]: Values[Columns[Column]];
};

function table<const Columns extends Record<string, ColumnKind>>(
  name: string,
  rest: Partial<Table<Made<Columns>>> & Pick<Table<Made<Columns>>, 'key'> & { columns: Columns },
): Table<Made<Columns>> {
  return { name, indexes: [], user: null, ...rest } as never;
}
