// The file of a store with flipped bits, overwritten pages or a lost end: the check finds the damage, or
// no stored data changed, and users whose data are intact are served as before.
import { open, rm, stat } from 'node:fs/promises';
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

const people = ['ada', 'ben', 'cal'];

/** A store with something in every table, moved and waiting. */
async function fill(store: Store): Promise<Record<string, string>> {
  await store.studies.put({ name: 'sunny', subgroups: ['west'] } as never);
  const uuids: Record<string, string> = {};
  for (const name of people) uuids[name] = await fillUser(store, name, name === 'ben' ? 'ios' : 'android');
  return uuids;
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
  const { size } = await stat(path);
  const file = await open(path, 'r+');
  try {
    const at = Math.floor(random.between(0, size));
    const kind = random.pick(['bit', 'bit', 'bit', 'bytes', 'page', 'zeros', 'end']);
    if (kind === 'end') {
      await file.truncate(at);
      return `cut off at ${at}`;
    }
    const page = at - (at % 4096);
    const [start, length] = kind === 'page' || kind === 'zeros' ? [page, 4096] : [at, kind === 'bit' ? 1 : 64];
    const bytes = Buffer.alloc(Math.min(length, size - start));
    await file.read(bytes, 0, bytes.length, start);
    if (kind === 'bit') bytes[0]! ^= 1 << Math.floor(random.between(0, 8));
    else if (kind === 'zeros') bytes.fill(0);
    else if (kind === 'bytes') for (let i = 0; i < bytes.length; i++) bytes[i] = Math.floor(random.between(0, 256));
    else {
      // A page of another place of the same file: each of its bytes is what some page may hold.
      const other = Math.floor(random.between(0, size / 4096)) * 4096;
      await file.read(bytes, 0, bytes.length, other);
    }
    await file.write(bytes, 0, bytes.length, start);
    return `${kind} at ${at} (page ${page / 4096 + 1})`;
  } finally {
    await file.close();
  }
}

it('the check finds damage anywhere in a file, or no stored data changed', () =>
  withSeed(async (random) => {
    const folder = tempFolder();
    const whole = join(folder, 'whole');
    const uuids = await withStore(whole, fill);
    expect(await checkStore(whole)).toMatchObject({ complete: true, findings: [] });
    const before = await withStore(whole, (store) => Promise.all(people.map((name) => contentOf(store, uuids[name]!))));
    const met = { found: 0, unused: 0 };
    for (let i = 0; i < times('MOBILITY_TEST_DAMAGES', 24); i++) {
      const copy = await copyOf(whole, join(folder, `copy-${i}`));
      const what = await damage(copy, random);
      const findings = (await checked(copy))?.findings;
      const isSound = findings?.length === 0;
      met[isSound ? 'unused' : 'found'] += 1;
      const hit = new Set(findings?.map(({ user_id }) => user_id));
      for (const finding of findings ?? [])
        expect(finding).toMatchObject({ problem: expect.stringMatching(/\S/), cure: expect.stringMatching(/\S/) });
      const store = await openStore(copy).catch((error) => {
        expect(isMobilityError(error), `${what}: ${error.stack}`).toBe(true);
        expect(isSound, what).toBe(false);
        return null;
      });
      for (const [j, name] of people.entries()) {
        if (store === null) break;
        const uuid = uuids[name]!;
        const after = await contentOf(store, uuid).catch((error: unknown) => error);
        if (isSound) expect(after, `${what}: ${name}`).toBe(before[j]);
        // A finding of a row names its user: the others are served as before.
        else if (!hit.has(uuid) && !hit.has(null))
          expect(after, `${what}: ${name}, ${JSON.stringify(findings)}`).toBe(before[j]);
      }
      await store?.close();
      await rm(copy, { recursive: true });
    }
    expect(met.found).toBeGreaterThan(0);
  }));
