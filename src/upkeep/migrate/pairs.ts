// Two ordered streams of rows side by side: what is missing, different or too much in the second, and batches to mend
// it.

/** How the rows of one collection of a user differ between source and target. */
export interface Tally {
  /** Rows of the source. */
  rows: number;
  /** Rows that the target lacks. */
  missing: number;
  /** Rows that the target has with other content. */
  different: number;
  /** Rows that only the target has. */
  extra: number;
}

/** One place on both sides; a row that is not there is null. */
export interface Pair<Row> {
  source: Row | null;
  target: Row | null;
  same: boolean;
}

/** What is compared: both streams ascend by `place`, and rows of the same `content` are the same. */
export interface Sides<Row> {
  source: AsyncIterable<Row>;
  target: AsyncIterable<Row>;
  place: (row: Row) => number | string;
  content: (row: Row) => string;
}

/**
 * Makes the target like the source where pairs differ; `pairs` ascend and leave none out between the first and the
 * last.
 */
export type Mend<Row> = (pairs: readonly Pair<Row>[]) => Promise<void>;

/** A tally of nothing. */
export function emptyTally(): Tally {
  return { rows: 0, missing: 0, different: 0, extra: 0 };
}

/** Adds `more` to `sum`. */
export function addTally(sum: Tally, more: Tally): void {
  for (const name of Object.keys(sum) as (keyof Tally)[]) sum[name] += more[name];
}

/** Rows that differ in any way. */
export function differences({ missing, different, extra }: Tally): number {
  return missing + different + extra;
}

/** Pairs of rows at the same place. */
export async function* paired<Row>({
  source,
  target,
  place,
}: Pick<Sides<Row>, 'source' | 'target' | 'place'>): AsyncGenerator<{ source: Row | null; target: Row | null }> {
  const [sources, targets] = [source[Symbol.asyncIterator](), target[Symbol.asyncIterator]()];
  const next = async (rows: AsyncIterator<Row>): Promise<Row | null> => {
    const { done, value } = await rows.next();
    return done ? null : value;
  };
  let [one, other] = await Promise.all([next(sources), next(targets)]);
  while (one !== null || other !== null) {
    const takesOne = one !== null && (other === null || place(one) <= place(other));
    const takesOther = other !== null && (one === null || place(other) <= place(one));
    yield { source: takesOne ? one : null, target: takesOther ? other : null };
    [one, other] = await Promise.all([takesOne ? next(sources) : one, takesOther ? next(targets) : other]);
  }
}

const rowsAtOnce = 1000;
const charactersAtOnce = 8 * 1024 * 1024;

/**
 * Compares both sides row by row, and mends the target batch by batch unless `mend` is null. Holds one batch in memory,
 * however many rows there are.
 */
export async function compare<Row>(sides: Sides<Row>, mend: Mend<Row> | null): Promise<Tally> {
  const tally = emptyTally();
  let batch: Pair<Row>[] = [];
  let characters = 0;
  const flush = async (): Promise<void> => {
    if (mend !== null && batch.some(({ same }) => !same)) await mend(batch);
    batch = [];
    characters = 0;
  };
  for await (const { source, target } of paired(sides)) {
    const [wanted, found] = [source && sides.content(source), target && sides.content(target)];
    const same = wanted === found;
    if (source !== null) tally.rows += 1;
    if (!same) tally[target === null ? 'missing' : source === null ? 'extra' : 'different'] += 1;
    batch.push({ source, target, same });
    characters += (wanted ?? '').length + (found ?? '').length;
    if (batch.length === rowsAtOnce || characters > charactersAtOnce) await flush();
  }
  await flush();
  return tally;
}
