// Chunks as this process opened or wrote them last, so that a run that goes over a day again need not decode it again.
import { entriesOf, type StoredEntries } from '../chunks/chunk.ts';
import type { Rows, Summed } from '../rows/rows.ts';
import { readColumn } from '../rows/sums.ts';
import { type ChunkRow, chunks } from '../rows/tables.ts';

/** What a chunk is found by, and the checksum of its content. */
export type ChunkHead = Pick<ChunkRow & Summed, 'user' | 'key' | 'first' | 'sum'>;

/** Characters of JSON that are kept, some five times as many bytes of memory. */
const mostCharacters = 2 ** 21;

const keptFor = 30_000; // ms since the last use: another process may have erased the person

/** The entries of chunks by their checksum, those used last. */
export class ChunkCache {
  private readonly kept = new Map<string, StoredEntries>();
  private readonly used = new Map<string, number>();
  private size = 0;
  private sweep: NodeJS.Timeout | undefined;

  /** The entries of chunks, in their order. Chunks that are not kept are read in one call. */
  async open(rows: Rows, heads: readonly ChunkHead[]): Promise<StoredEntries[]> {
    // Taken before others are kept, which may push them out.
    const kept = heads.map((head) => this.kept.get(nameOf(head)));
    const missing = heads.filter((_, i) => kept[i] === undefined);
    const read = new Map<string, StoredEntries>();
    if (missing.length > 0) {
      const where = { user: missing[0]!.user, first: { in: [...new Set(missing.map(({ first }) => first))] } };
      for (const row of await rows.find(chunks, { where }))
        read.set(
          `${row.first} ${row.key}`,
          readColumn(chunks, row, 'entries', () => entriesOf(row)),
        );
    }
    return heads.map((head, i) => {
      const entries = kept[i] ?? read.get(`${head.first} ${head.key}`)!;
      this.keep(head, entries);
      return entries;
    });
  }

  /** Keeps the entries of a chunk that is stored. */
  keep(head: ChunkHead, entries: StoredEntries): void {
    const name = nameOf(head);
    this.drop(name);
    this.kept.set(name, entries);
    this.used.set(name, Date.now());
    this.sweep ??= setTimeout(() => this.dropUnused(), keptFor).unref();
    this.size += entries.size;
    for (const oldest of this.kept.keys()) {
      if (this.size <= mostCharacters) break;
      this.drop(oldest);
    }
  }

  /** Forgets everything about a user. */
  forget(user: string): void {
    for (const name of this.kept.keys()) if (name.startsWith(`${user} `)) this.drop(name);
  }

  private drop(name: string): void {
    this.size -= this.kept.get(name)?.size ?? 0;
    this.kept.delete(name);
    this.used.delete(name);
  }

  private dropUnused(): void {
    for (const [name, at] of this.used) if (Date.now() - at >= keptFor) this.drop(name);
    this.sweep = this.used.size === 0 ? undefined : setTimeout(() => this.dropUnused(), keptFor).unref();
  }
}

const nameOf = ({ user, first, key, sum }: ChunkHead): string => `${user} ${first} ${key} ${sum}`;
