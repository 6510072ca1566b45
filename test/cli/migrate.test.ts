// `mobility migrate`: what it copies, what it refuses, and how it ends.
import { existsSync } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { silentLog } from '../../src/log/log.ts';
import type { Entry } from '../../src/model/entry.ts';
import { runPipeline } from '../../src/pipeline/run-pipeline.ts';
import { onEngine, openStore } from '../../src/store/open.ts';
import { feedParts, feeds, profiles } from '../../src/store/rows/tables.ts';
import { copyBetween, copyPerson, copyStore } from '../../src/upkeep/copy-store.ts';
import { changeRow, contentOf, fillUser, garbage, pushesOf, withStore } from '../faults/kit.ts';
import { zip } from '../support/zip.ts';
import { townFeed } from '../transit/town.ts';
import { everybodyAt, freshProgram, type Program, tempFolder } from './kit.ts';

const names = ['ada@example.org', 'ben@example.org'];
const [ada] = names;
const now = (): number => 1_720_000_000;

/** A store with two people in a study, and the address of a store that is not there yet. */
async function withPeople(): Promise<Program & { target: string }> {
  const program = await freshProgram();
  await program.withStore(async (store) => {
    await store.studies.put({ name: 'sunny', subgroups: ['west'] } as never);
    for (const name of ['ada', 'ben']) {
      await store.users.register(`${name}@example.org`, { now: 1.25, study: 'sunny' });
      const uuid = await fillUser(store, name);
      await store.profiles.merge(uuid, { 'a.b': -0, $set: { '': null, 'é\u0000': '\ud800' } });
    }
  });
  return { ...program, target: join(program.folder, 'target') };
}

describe('migrate', () => {
  it('copies all data of all users to a store that it creates, and does not change the source', async () => {
    const { json, show, address, target } = await withPeople();
    const before = await everybodyAt(address);
    const { stderr } = await show(
      ['migrate', '--from', address, '--to', `sqlite:${target}`],
      /^2 users: 2 copied \([\d,]+ rows written, 0 removed\), 0 already equal; both sides are equal, /,
    );
    expect(stderr).toBe('');
    expect([await everybodyAt(target), await everybodyAt(address)]).toEqual([before, before]);
    expect(await json('pipeline', '--all', '--store', target)).toMatchObject({ done: 2, failed: 0 });
  });

  it('copies transit feeds, also with one person, and a repetition leaves them as they are', async () => {
    const { run, folder, address, target } = await withPeople();
    const tables = Object.entries(townFeed()).map(([table, text]) => {
      return { name: `${table}.txt`, content: Buffer.from(text as string) };
    });
    await writeFile(join(folder, 'feed.zip'), zip(...tables));
    expect((await run(['transit', 'add', join(folder, 'feed.zip')])).code).toBe(0);
    const feedsAt = (of: string): Promise<unknown> =>
      onEngine(of, { make: false }, (engine) =>
        engine.read(async (rows) => [await rows.find(feeds, { where: {} }), await rows.find(feedParts, { where: {} })]),
      );
    const before = (await feedsAt(address)) as unknown[][];
    expect(before.map((found) => found.length > 0)).toEqual([true, true]);
    for (let i = 0; i < 2; i += 1) {
      expect((await run(['migrate', '--to', target])).code).toBe(0);
      expect(await feedsAt(target)).toEqual(before);
    }
    const [user] = await withStore(address, (store) => store.users.list({ limit: 1 }));
    const copy = join(folder, 'copy');
    await copyPerson(address, copy, user!.uuid);
    expect([await feedsAt(copy), await everybodyAt(copy)]).toMatchObject([before, { length: 2 }]);
  });

  it('uses the store of the settings for the side that is not given', async () => {
    const { json, address, target } = await withPeople();
    const sides = { from: address, to: target };
    expect(await json('migrate', '--to', target)).toMatchObject({ ...sides, equal: true });
    const other = await json('migrate', '--from', address, '--store', target);
    expect(other).toMatchObject({ copied: 0, same: 2, written: 0, removed: 0, equal: true });
  });

  it('as a dry run copies nothing and makes no store', async () => {
    const { run, show, folder, target } = await withPeople();
    const before = await readdir(folder);
    const tried = ['migrate', '--to', target, '--dry-run'];
    const shown = /^2 users: 2 to copy \([\d,]+ rows to write, 0 to remove\), .*; both sides are not equal/;
    expect((await show(tried, shown)).stderr).toContain('without --dry-run it is created');
    expect(await readdir(folder)).toEqual(before);
    await run(['store', 'init', '--store', target]);
    expect((await show(tried, shown)).stderr).toBe('');
    expect(await withStore(target, (store) => store.users.list({ limit: 9 }))).toEqual([]);
  });

  it('ends with 3 and names users who differ between the two sides, unless it may overwrite them', async () => {
    const { run, show, json, address, target } = await withPeople();
    const copy = ['migrate', '--to', target];
    await run(copy);
    await run(['users', 'token', ada!, '--store', target]);
    const { stdout } = await show(copy, /^ada@example\.org: differs: .*--overwrite/, { code: 3 });
    expect(stdout).toContain('0 copied (0 rows written, 0 removed), 1 already equal, 1 not copied; both sides are not');
    const before = await everybodyAt(target);
    const changes = { copied: 1, same: 1, removed: 1 };
    expect(await json(...copy, '--overwrite', '--dry-run')).toMatchObject({ ...changes, equal: false });
    expect(await everybodyAt(target)).toEqual(before);
    expect(await json(...copy, '--overwrite')).toMatchObject({ ...changes, equal: true });
    expect(await everybodyAt(target)).toEqual(await everybodyAt(address));
  });

  it('refuses a target with other users, unless they may be together', async () => {
    const { run, show, json, refuse, target } = await withPeople();
    await run(['users', 'add', 'somebody else', '--store', target]);
    const refused = /^mobility: MOBILITY_USER_EXISTS: .*found 1: .*--merge\n$/;
    await refuse(['migrate', '--to', target], refused, { code: 1 });
    await show(['migrate', '--to', target, '--merge'], '1 other user at the target');
    expect((await json('users', 'list', '--store', target)).users).toHaveLength(3);
  });

  it('erases people who were erased at the source between two copies, on request, but none who sent data to the target', async () => {
    const { run, show, address, target, refuse } = await withPeople();
    const again = ['migrate', '--from', address, '--to', target, '--overwrite'];
    await run(['migrate', '--from', address, '--to', target]);
    await run(['erase', '--user', ada!, '--yes']);
    await refuse(again, `found 1: ${ada}`, { code: 1 });
    expect((await run([...again, '--erase-missing'])).code).toBe(2);
    await show([...again, '--erase-missing', '--dry-run'], '1 other user to erase at the target');
    const lastPut = (last_put_ts: number) =>
      withStore(target, async (store) =>
        store.profiles.merge((await store.users.byEmail(ada!))!.uuid, { last_put_ts }),
      );
    await lastPut(Date.now() / 1000 + 60);
    await refuse([...again, '--erase-missing', '--yes'], 'may be swapped', { code: 1 });
    await lastPut(5);
    await show([...again, '--erase-missing', '--yes'], '1 other user erased at the target');
    expect(await everybodyAt(target)).toEqual(await everybodyAt(address));
    expect((await run(['migrate', '--from', target, '--to', address, '--overwrite'])).code).toBe(0);
    await run(['users', 'add', 'only here', '--store', target]);
    expect((await run([...again, '--erase-missing', '--yes'])).code).toBe(0);
  });

  it('skips a user whom a run works on, one with damaged rows and one with another UUID, and copies the rest', async () => {
    const { run, show, json, address, target, withStore: withSource } = await withPeople();
    await withSource(async (store) => {
      const { uuid } = (await store.users.register('busy', { now: 1 })).user;
      await store.leases.acquire(uuid, 'pipeline 7 on host', 60);
      await store.leases.acquire((await store.users.byEmail('ben@example.org'))!.uuid, 'killed long ago', 0);
      await store.users.register('other', { now: 1 });
      changeRow(address, (await store.users.byEmail(ada!))!.uuid, ['profiles', 'profile'], garbage);
    });
    await run(['users', 'add', 'other', '--store', target]);
    const busy = /^busy: busy: pipeline 7 on host works on this user$/m;
    const { stdout } = await show(['migrate', '--to', target, '--merge'], busy, { code: 3 });
    expect(stdout).toMatch(/^ada@example\.org: failed: .*checksum/m);
    expect(stdout).toMatch(/^other: failed: the target has a user of the same name with another UUID, /m);
    expect(stdout).toContain('4 users: 1 copied');
    expect(await json('migrate', '--to', target, '--merge')).toMatchObject({ same: 1, written: 0, removed: 0 });
  });

  it.each([
    [[], 'expected --from ADDRESS or --to ADDRESS'],
    [['--to', 'ftp://example.org'], 'as the address of a store'],
    [['--from', 'nowhere', '--to', 'elsewhere'], 'expected a store in nowhere'],
    [['--from', './same', '--to', 'sqlite:same/../same'], 'expected --from and --to to be two stores'],
    [
      ['--to', 'mongodb://u:secret@h/d', '--from', 'mongodb://u:secret@h/d'],
      'expected --from and --to to be two stores',
    ],
  ])('with %j is a usage error, and makes nothing', async (args, message) => {
    const { folder, refuse, address } = await freshProgram('ada');
    const { stdout, stderr } = await refuse(['migrate', ...args], message);
    expect([stdout, stderr]).toEqual(['', expect.not.stringContaining('secret')]);
    expect(await readdir(folder)).toEqual([address.split('/').at(-1)]);
    expect(['nowhere', 'elsewhere', 'same'].filter((name) => existsSync(name))).toEqual([]);
  });
});

describe('an interrupted migrate', () => {
  it('between two users continues with the next one when it is repeated', async () => {
    const { json, address, target } = await withPeople();
    const stop = new AbortController();
    const options = { now, signal: stop.signal, onUser: () => stop.abort(new Error('stopped')) };
    await expect(copyBetween(address, target, options)).rejects.toThrow('stopped');
    expect(await json('migrate', '--to', target)).toMatchObject({ copied: 1, same: 1, equal: true });
  });

  /** Fails unless each unfinished user is of a copy and is not admitted; returns how many there are. */
  const arrivingAt = (target: string): Promise<number> =>
    withStore(target, async (store) => {
      const left = await store.unfinished();
      for (const { user_id, stage } of left) {
        expect(stage).toBe('arriving');
        await expect(store.profiles.merge(user_id, {})).rejects.toMatchObject({ code: 'MOBILITY_USER_UNKNOWN' });
      }
      return left.length;
    });

  it('before any of its writes leaves users that are not admitted, and the repetition completes them', async () => {
    const { run, address, folder } = await withPeople();
    const expected = await everybodyAt(address);
    let arriving = 0;
    for (let at = 0; ; at += 3) {
      const target = join(folder, `target ${at}`);
      if (await copyUntil(address, target, at)) break;
      arriving += await arrivingAt(target);
      expect((await run(['migrate', '--to', target])).code, `before write ${at}`).toBe(0);
      expect(await everybodyAt(target)).toEqual(expected);
    }
    expect(arriving).toBeGreaterThan(3);
  });

  it('in place of other data also leaves a user who is not admitted', async () => {
    const { run, address, target } = await withPeople();
    await run(['migrate', '--to', target]);
    for (const name of names) await run(['users', 'token', name, '--store', target]);
    await copyUntil(address, target, 4, { overwrite: true }); // two writes are of studies, one is of erased tokens
    expect(await arrivingAt(target)).toBe(1);
    expect((await run(['migrate', '--to', target, '--overwrite'])).code).toBe(0);
    expect(await everybodyAt(target)).toEqual(await everybodyAt(address));
  });
});

it('a person whom the source changes during the copy is reported as failed', async () => {
  const { address, target } = await withPeople();
  let clock = 1000;
  const report = await onEngine(address, {}, (source) =>
    onEngine(target, {}, (engine) => {
      const write: typeof engine.write = async (user, work) => {
        const isCopied = (await engine.read((rows) => rows.total(profiles, {}))) > 0;
        if (isCopied) await source.write(null, (rows) => rows.remove(profiles, {}));
        return engine.write(user, work);
      };
      return copyStore(source, { ...engine, write }, { now: () => (clock += 5) });
    }),
  );
  const failed = report.reports.map(({ status, message }) => [status, message?.slice(0, 28)]);
  expect([failed, report.equal]).toEqual([[['failed', 'the source changed meanwhile']], false]);
  expect(report.seconds).toBe(5);
});

/** Copies until the write number `at`; true if there are fewer writes. */
function copyUntil(from: string, to: string, at: number, more = {}): Promise<boolean> {
  return onEngine(from, {}, (source) =>
    onEngine(to, {}, async (target) => {
      let writes = 0;
      const write: typeof target.write = async (...args) => {
        if (writes++ >= at) throw new Error('died');
        return target.write(...args);
      };
      return copyStore(source, { ...target, write }, { now, ...more }).then(
        () => true,
        () => false,
      );
    }),
  );
}

// ---------------------------------------------------------------- any two sides

const days = pushesOf('ada', 'ios', 2).flat();

/** An action of a user: a push of a part of two days, some with other content, or a run of the pipeline. */
const anyLife = fc.array(
  fc.oneof(fc.record({ from: fc.nat({ max: days.length }), content: fc.nat({ max: 1 }) }), fc.constant('run' as const)),
  { maxLength: 4 },
);

it('a user becomes as at the source, for any data at the target', async () => {
  const folder = tempFolder();
  const sides = [join(folder, 'from'), join(folder, 'to')] as const;
  const stores = await Promise.all(sides.map((side) => openStore(side)));
  let users = 0;
  await fc.assert(
    fc.asyncProperty(anyLife, anyLife, async (...lives) => {
      const uuid = `00000000-0000-4000-8000-${String(++users).padStart(12, '0')}`;
      for (const [i, store] of stores.entries()) {
        await store.users.register(uuid, { uuid, now: 1 + i });
        for (const step of lives[i]!) {
          if (step === 'run') await runPipeline(store, uuid, { log: silentLog, now });
          else {
            const entries = days.slice(step.from, step.from + 300).map((entry) => withContent(entry, step.content));
            await store.usercache.put(uuid, { entries, unusable: [] }, 1);
          }
        }
      }
      expect(await copyBetween(...sides, { now, overwrite: true })).toMatchObject({ copied: 1, equal: true });
      const [source, target] = await Promise.all(stores.map((store) => contentOf(store, uuid)));
      expect(target).toBe(source);
    }),
    { numRuns: 20 },
  );
  await Promise.all(stores.map((store) => store.close()));
});

const withContent = ({ metadata, data }: Entry, content: number): Entry => ({ metadata, data: { ...data, content } });
