// Caches the chunks that this process read or wrote last, so that a run rarely unpacks a day twice.
import { entriesOf, type StoredEntries } from '../chunks/chunk.ts';
import type { Rows, Summed, WritableRows } from '../rows/rows.ts';
import { readColumn } from '../rows/sums.ts';
import { type ChunkRow, chunks } from '../rows/tables.ts';

export const headColumns = ['user', 'key', 'first', 'last', 'first_ts', 'last_ts', 'sum'] as const;
export type Head = Pick<ChunkRow & Summed, (typeof headColumns)[number]>;

/** The columns that name a chunk in the cache; `sum` names its content. */
export type ChunkHead = Pick<Head, 'user' | 'key' | 'first' | 'sum'>;

/** The rows of a user in a transaction, and the cached chunks of the store. */
export interface UserRows<R extends Rows = Rows> {
  rows: R;
  cache: ChunkCache;
  user: string;
}

export type WritableUserRows = UserRows<WritableRows>;

/**
 * Characters of stored JSON in all caches of a process: about 30,000 entries of a phone and 12 MB
 * of memory. The stores of a process share this limit, because a debug bundle opens a second store.
 */
const mostCharacters = 2 ** 20;

const keptFor = 30_000; // ms from its last use until a chunk is dropped: another process may have erased the user

const kept = new Map<string, { entries: StoredEntries; used: number }>(); // in the order of their last use
let size = 0;
let caches = 0;

/**
 * The cached chunks of one store. If all caches together have more than `mostCharacters`, the
 * least recently used chunks are dropped, from any store.
 */
export class ChunkCache {
  readonly #id = caches++;
  #sweep: NodeJS.Timeout | undefined;

  /**
   * Returns the entries of chunks, in the order of `heads`. Caches the chunks, unless it reads only
   * some `fields` (see `EntryQuery.fields`) or `isBulk` is true.
   */
  async open(
    rows: Rows,
    heads: readonly ChunkHead[],
    fields?: readonly string[],
    isBulk = false,
  ): Promise<StoredEntries[]> {
    // Looks up all chunks before it caches any, because caching a chunk may drop another.
    const found = heads.map((head) => kept.get(this.#nameOf(head))?.entries);
    const missing = heads.filter((_, i) => found[i] === undefined);
    const read = new Map<string, StoredEntries>();
    if (missing.length > 0) {
      const where = { user: missing[0]!.user, first: { in: [...new Set(missing.map(({ first }) => first))] } };
      for (const row of await rows.find(chunks, { where })) {
        const entries = readColumn(chunks, row, 'entries', () => entriesOf(row, fields));
        read.set(`${row.first} ${row.key}`, entries);
      }
    }
    return heads.map((head, i) => {
      const entries = found[i] ?? read.get(`${head.first} ${head.key}`)!;
      if ((fields === undefined && !isBulk) || found[i] !== undefined) this.keep(head, entries);
      return entries;
    });
  }

  keep(head: ChunkHead, entries: StoredEntries): void {
    const name = this.#nameOf(head);
    drop(name);
    size += entries.size;
    kept.set(name, { entries, used: Date.now() });
    this.#sweep ??= setTimeout(() => this.#dropUnused(), keptFor).unref();
    for (const oldest of kept.keys()) {
      if (size <= mostCharacters) break;
      drop(oldest);
    }
  }

  forget(user: string): void {
    for (const name of kept.keys()) if (name.startsWith(`${this.#id} ${user} `)) drop(name);
  }

  #dropUnused(): void {
    for (const [name, { used }] of kept) if (Date.now() - used >= keptFor) drop(name);
    this.#sweep = kept.size === 0 ? undefined : setTimeout(() => this.#dropUnused(), keptFor).unref();
  }

  #nameOf({ user, first, key, sum }: ChunkHead): string {
    return [this.#id, user, first, key, sum].join(' ');
  }
}

function drop(name: string): void {
  size -= kept.get(name)?.entries.size ?? 0;
  kept.delete(name);
}
