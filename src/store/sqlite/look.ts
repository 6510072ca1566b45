// A short look at an embedded store, for programs that start: what it costs is bounded, whatever the size of the store.
// `check.ts` looks at everything.
import { statSync } from 'node:fs';
import { basename } from 'node:path';
import { startSlices } from '../../turns.ts';
import { CheckTally, type Looked } from '../check.ts';
import { openToCheck, ownedTables, shardsIn, tablesIn } from './check.ts';
import { checkPages } from './check-pages.ts';
import { pathsOf } from './folder.ts';
import { sampleTable } from './sample-rows.ts';

/** Bytes of a file up to which its pages are looked at, too: some 20 ms, in which the process does nothing else. */
const smallFile = 4 * 1024 * 1024;

const longestLook = 5_000; // ms, where disk or machine are slow

/**
 * Looks at the heads of all files, at the pages of small ones, and at rows from all parts of each table, until
 * the process has spent `milliseconds` of CPU or `signal` is aborted. Finds what is damaged widely or lately, and not
 * every flipped bit.
 */
export async function lookAtSqliteStore(
  folder: string,
  { milliseconds, signal }: { milliseconds: number; signal?: AbortSignal },
): Promise<Looked> {
  const [began, until] = [process.cpuUsage(), performance.now() + longestLook];
  const spent = (): number => {
    const { user, system } = process.cpuUsage(began);
    return (user + system) / 1000;
  };
  const isOver = (): boolean => signal?.aborted === true || spent() >= milliseconds || performance.now() >= until;
  const tally = new CheckTally({});
  const slices = startSlices();
  for (const path of pathsOf(folder, await shardsIn(folder, tally))) {
    if (isOver()) break;
    await tally.attempt(basename(path), async () => {
      const checked = await openToCheck(path, tally);
      if (checked === null) return;
      try {
        if (statSync(path).size <= smallFile) await checkPages(checked.file, checked.name, tally);
        const there = await tablesIn(checked);
        for (const table of ownedTables.filter((name) => there.has(name))) {
          if (isOver()) break;
          await sampleTable(checked, table, tally, isOver);
          if (slices.isOver()) await slices.next();
        }
      } finally {
        checked.file.close();
      }
    });
  }
  const { findings, unchecked } = tally;
  return { findings, unchecked };
}
