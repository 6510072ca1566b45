// The file of a store with flipped bits, overwritten pages or a lost end: the check finds the damage, or
// no stored data changed, and users whose data are intact are served as before.
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { isMobilityError } from '../../src/model/mobility-error.ts';
import type { Random } from '../../src/simulate/random.ts';
import { openStore } from '../../src/store/open.ts';
import { databaseIn } from '../../src/store/sqlite/folder.ts';
import type { Store } from '../../src/store/store.ts';
import { type CheckReport, checkStore } from '../../src/upkeep/check-store.ts';
import { tempFolder } from '../support/clean-up.ts';
import { contentOf, copyOf, fillUser, times, withSeed, withStore } from './kit.ts';

/** Something in every table, moved and waiting; the UUIDs of three people. */
async function fill(store: Store): Promise<string[]> {
  await store.studies.put({ name: 'sunny', subgroups: ['west'] } as never);
  return [await fillUser(store, 'ada'), await fillUser(store, 'ben', 'ios'), await fillUser(store, 'cal')];
}

/** Checks a copy of a store. One whose number of the format is damaged is refused as a store of another program. */
async function checked(folder: string): Promise<CheckReport | null> {
  return checkStore(folder).catch((error) => {
    if (isMobilityError(error, 'MOBILITY_STORE_VERSION')) return null;
    throw error;
  });
}

/** Damages the file at a random place; returns what was done. */
async function damage(folder: string, random: Random): Promise<string> {
  const path = databaseIn(folder);
  const bytes = await readFile(path);
  const at = Math.floor(random.between(0, bytes.length));
  const page = at - (at % 4096);
  const kind = random.pick(['bit', 'bit', 'bit', 'bytes', 'page', 'zeros', 'end']);
  if (kind === 'bit') bytes[at]! ^= 1 << Math.floor(random.between(0, 8));
  if (kind === 'zeros') bytes.fill(0, page, page + 4096);
  if (kind === 'bytes') for (let i = 0; i < 64; i++) bytes[at + i] = Math.floor(random.between(0, 256));
  if (kind === 'page') {
    // A page of another place of the same file: each of its bytes is what some page may hold.
    const other = Math.floor(random.between(0, bytes.length / 4096)) * 4096;
    bytes.copyWithin(page, other, other + 4096);
  }
  await writeFile(path, kind === 'end' ? bytes.subarray(0, at) : bytes);
  return `${kind} at ${at} (page ${page / 4096 + 1})`;
}

it('the check finds damage anywhere in a file, or no stored data changed', () =>
  withSeed(async (random) => {
    const folder = tempFolder();
    const whole = join(folder, 'whole');
    const uuids = await withStore(whole, fill);
    expect(await checkStore(whole)).toMatchObject({ complete: true, findings: [] });
    const before = await withStore(whole, (store) => Promise.all(uuids.map((uuid) => contentOf(store, uuid))));
    let found = 0;
    for (let i = 0; i < times('MOBILITY_TEST_DAMAGES', 24); i++) {
      const copy = await copyOf(whole, join(folder, `copy-${i}`));
      const what = await damage(copy, random);
      const findings = (await checked(copy))?.findings;
      const isSound = findings?.length === 0;
      if (!isSound) found += 1;
      const hit = new Set(findings?.map(({ user_id }) => user_id));
      for (const finding of findings ?? [])
        expect(finding).toMatchObject({ problem: expect.stringMatching(/\S/), cure: expect.stringMatching(/\S/) });
      const store = await openStore(copy).catch((error) => {
        expect(isMobilityError(error), `${what}: ${error.stack}`).toBe(true);
        expect(isSound, what).toBe(false);
        return null;
      });
      // A finding of a row names its user: the others are served as before.
      for (const [j, uuid] of uuids.entries()) {
        if (store === null || hit.has(uuid) || hit.has(null)) continue;
        const after = await contentOf(store, uuid).catch((error: unknown) => error);
        expect(after, `${what}: user ${j}, ${JSON.stringify(findings)}`).toBe(before[j]);
      }
      await store?.close();
      await rm(copy, { recursive: true });
    }
    expect(found).toBeGreaterThan(0);
  }));
