// Every table of the store. Bytes are packed JSON, unless a comment says otherwise. The columns
// `settings`, `record`, `facts`, `state`, `profile`, `waiting` and `figures` hold JSON. Until the
// first release, the format stays 1 when a table changes: see CONTRIBUTING.md.
import type { ColumnKind, Table } from './rows.ts';

export const storeFormat = 1;

export const allTables: Table<never>[] = [];

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

/** The rows of revoked tokens stay. */
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

/** Each join writes the row, so that parallel joins conflict. */
export const studies = table('studies', {
  columns: { name: 'text', settings: 'text', joins: 'number' },
  key: ['name'],
});

/** Tokens of erased people, which cannot join again. `token`: 64 bits of its SHA-256 as hex. */
export const erasedTokens = table('erased_tokens', {
  columns: { study: 'text', token: 'text' },
  key: ['study', 'token'],
});

export const managers = table('managers', {
  columns: { name: 'text', record: 'text' },
  key: ['name'],
});

/** Written after its parts, so an interrupted `add` leaves parts only. `index`: packed text. */
export const feeds = table('feeds', {
  columns: { id: 'text', facts: 'text', index: 'bytes' },
  key: ['id'],
});

/** `part`: the id of the feed and a number, `ab12…/0003`. `bytes`: a part of the zip. */
export const feedParts = table('feed_parts', {
  columns: { part: 'text', feed: 'text', bytes: 'bytes' },
  key: ['part'],
  indexes: [{ columns: ['feed', 'part'] }],
});

/** Every write about a user reads this row: stage, lease and pipeline state. */
export const accounts = table('accounts', {
  columns: {
    user: 'text',
    registered_ts: 'number',
    /** The name of the user in the audit log. */
    audit_key: 'text',
    stage: 'text', // `active`, or `erasing` or `arriving`, see `Unfinished`
    fence: 'number',
    owner: 'text?',
    expires_ts: 'number',
    seconds: 'number', // seconds for which the lease was acquired
    /** 1 if the user has a dirty range, or documents may differ from the trips. */
    due: 'number',
    /** The analysis version of the trips; null before the first analysis. */
    version: 'text?',
    /** 1 if the timeseries ever had an entry that names a valid time zone. */
    zoned: 'number',
    /** 1 if the timeseries ever had an entry that affects trips and names no valid time zone. */
    zoneless: 'number',
    /** 1 if `people` has a `sent_ts` of the user. So a put need not read `people`. */
    sent: 'number',
    state: 'text',
  },
  key: ['user'],
});

/** When a copy from another store created a user. Users who registered here have no row. */
export const arrivals = table('arrivals', {
  columns: { user: 'text', arrived_ts: 'number' },
  key: ['user'],
});

export const profiles = table('profiles', {
  columns: { user: 'text', profile: 'text' },
  key: ['user'],
});

/** Pending entries of one put. Each identity is in at most one batch. */
export const batches = table('batches', {
  columns: {
    user: 'text',
    id: 'number',
    count: 'number',
    /** The first and last `write_ts`, then the first and last data time; null: no data times. */
    first: 'number',
    last: 'number',
    first_ts: 'number?',
    last_ts: 'number?',
    due_ts: 'number', // the earliest `dueTime` of the entries
    waiting: 'text', // a `BatchHeader`
    entries: 'bytes',
  },
  key: ['user', 'id'],
  indexes: [{ columns: ['user', 'last', 'first'] }, { columns: ['user', 'due_ts'] }],
});

export const errors = table('errors', {
  columns: {
    user: 'text',
    id: 'text',
    /** For an unusable entry, the key that it claims to have. */
    key: 'text?',
    write_ts: 'number?', // null: the entry has no identity
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
});

/**
 * Entries of one user, key and UTC day of `write_ts`. Their data times lie in one span of 30 days,
 * or none has a data time. A day with very many entries has several chunks.
 */
export const chunks = table('chunks', {
  columns: {
    user: 'text',
    key: 'text',
    /** The first and last `write_ts`, then the first and last data time; null: no data times. */
    first: 'number',
    last: 'number',
    first_ts: 'number?',
    last_ts: 'number?',
    count: 'number',
    zoned: 'number', // entries that name a valid time zone
    /** Entries that affect trips and name no valid time zone. */
    zoneless: 'number',
    entries: 'bytes', // packed by columns, see `chunks/chunk.ts`
  },
  key: ['user', 'first', 'key'],
  indexes: [{ columns: ['user', 'first_ts', 'key'] }, { columns: ['user', 'key', 'first'] }],
});

export const trips = table('trips', {
  columns: {
    user: 'text',
    chain_ts: 'number',
    kind: 'text',
    start_ts: 'number',
    end_ts: 'number',
    day: 'text',
    settled_ts: 'number', // Infinity while the link is not settled
    written_ts: 'number',
    /** A `BriefRecord`, see `stored-brief.ts`. Rows of older versions have an object or null. */
    outline: 'text?',
    record: 'bytes',
  },
  key: ['user', 'chain_ts'],
  indexes: [{ columns: ['user', 'day'] }, { columns: ['user', 'settled_ts'] }],
});

/** A `KeptPlaces`, derived from the trips up to a time. */
export const places = table('places', {
  columns: { user: 'text', places: 'bytes' },
  key: ['user'],
});

/** A `KeptMonth` that the pipeline derived. */
export const months = table('months', {
  columns: { user: 'text', month: 'text', figures: 'text' },
  key: ['user', 'month'],
});

export const documents = table('documents', {
  columns: { user: 'text', key: 'text', write_ts: 'number', data: 'bytes' },
  key: ['user', 'key'],
});

export type PersonRow = RowOf<typeof people>;
export type TokenRow = RowOf<typeof tokens>;
export type AccountRow = RowOf<typeof accounts>;
export type BatchRow = RowOf<typeof batches>;
export type FeedRow = RowOf<typeof feeds>;
export type RejectedRow = RowOf<typeof errors>;
export type ChunkRow = RowOf<typeof chunks>;
export type TripRow = RowOf<typeof trips>;
export type DocumentRow = RowOf<typeof documents>;

/** The tables that an erasure empties first. The user's account stays until they are empty. */
export const userTables = allTables.filter(
  (one) => one.user === 'user' && ![accounts, arrivals].includes(one as never),
);

type RowOf<T> = T extends Table<infer Row> ? Row : never;

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
  const made = { name, indexes: [], user: rest.key[0] === 'user' ? 'user' : null, ...rest } as never;
  allTables.push(made);
  return made;
}
