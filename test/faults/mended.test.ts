// Damaged rows of one user: what `store check` says of them, and what `store mend` and `rebuild` make of them.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { checkStore } from '../../src/store/open.ts';
import { connect } from '../../src/store/sqlite/driver.ts';
import { run } from '../cli/kit.ts';
import {
  changeRow,
  copyOf,
  everythingOf,
  fillStore,
  flipped,
  garbage,
  inFolder,
  patience,
  pushesOf,
  withStore,
} from './kit.ts';

/** A store with two people, the first day in the diary and the second waiting. */
async function madeStore(folder: string): Promise<Record<string, string>> {
  const days = { ada: pushesOf('ada', 'android', 2), ben: pushesOf('ben', 'ios', 2) };
  const uuids = await fillStore(folder, { ada: [days.ada[0]!], ben: [days.ben[0]!] });
  expect((await run(['pipeline', '--all', '--store', folder])).code).toBe(0);
  await withStore(folder, async (store) => {
    await store.usercache.put(uuids.ada!, { entries: days.ada[1]!, unusable: [] }, 1);
  });
  const connection = connect(join(folder, 'usercache-0.sqlite'));
  const forms = connection.prepare('SELECT substr(hex(entries), 1, 2) AS form FROM batches').all();
  connection.close();
  expect(forms).toContainEqual({ form: '03' }); // what waits lies in columns
  return uuids;
}

let whole = '';
let uuids: Record<string, string>;

beforeAll(async () => {
  whole = await mkdtemp(join(tmpdir(), 'mobility-mended-'));
  uuids = await madeStore(join(whole, 'store'));
}, patience);
afterAll(() => rm(whole, { recursive: true, force: true }));

/** Gives `work` a copy of the store. */
const onCopy = (work: (folder: string, uuids: Record<string, string>) => Promise<void>) =>
  inFolder(async (folder) => work(await copyOf(join(whole, 'store'), join(folder, 'store')), uuids));

/** Both parts of chunks and batches begin with the number of their form. */
const formFlipped = (bytes: Uint8Array): Uint8Array => {
  bytes[0]! ^= 1;
  return bytes;
};

const digestsOf = async (folder: string) => (await checkStore(folder, { digest: true })).users;

it.each([
  [['timeseries', 'chunks', 'entries'], 'store mend', 'corrected'],
  [['timeseries', 'chunks', 'times'], 'store mend', 'corrected'],
  [['usercache', 'batches', 'entries'], 'store mend', 'corrected'],
  [['usercache', 'batches', 'columns'], 'store mend', 'corrected'],
])('a flipped bit in %s is told with its cure, which puts it right', { timeout: patience }, (place) =>
  onCopy(async (folder, { ada }) => {
    const before = await digestsOf(folder);
    changeRow(folder, ada!, place, flipped);
    const check = await run(['store', 'check', '--json', '--store', folder]);
    expect(check.code).toBe(3);
    const { findings } = JSON.parse(check.stdout);
    expect(findings).toMatchObject([
      { code: 'DAMAGED_ROW', file: `${place[0]}-0.sqlite`, table: place[1], user_id: ada, entries: expect.any(Number) },
    ]);
    expect(findings[0].cure).toBe(`mobility store mend --user ${ada} --keep damaged-${ada}.jsonl`);
    const told = findings[0].cure.split(' ').slice(1);
    const mend = await run([...told, '--json', '--store', folder]);
    expect(mend, mend.stderr).toMatchObject({ code: 0 });
    expect(JSON.parse(mend.stdout)).toMatchObject({ mended: [{ outcome: 'corrected' }], kept_in: null });
    expect(await digestsOf(folder)).toEqual(before);
  }),
);

it(
  'a flipped bit in the number of a form is corrected, which older forms have no checksum over',
  { timeout: patience },
  () =>
    onCopy(async (folder, { ada }) => {
      const before = await digestsOf(folder);
      changeRow(folder, ada!, ['usercache', 'batches', 'entries'], formFlipped);
      changeRow(folder, ada!, ['timeseries', 'chunks', 'entries'], formFlipped);
      const kept = join(folder, 'kept.jsonl');
      const mend = await run(['store', 'mend', '--user', ada!, '--keep', kept, '--json', '--store', folder]);
      expect(mend, mend.stderr).toMatchObject({ code: 0 });
      const corrected = [{ outcome: 'corrected' }, { outcome: 'corrected' }];
      expect(JSON.parse(mend.stdout)).toMatchObject({ mended: corrected, kept_in: null });
      expect(await digestsOf(folder)).toEqual(before);
    }),
);

it.each([
  [['timeseries', 'trips', 'record']],
  [['timeseries', 'documents', 'data']],
  [['timeseries', 'pipeline', 'state']],
])('what derives from entries and is damaged in %s is derived again by rebuild', { timeout: patience }, (place) =>
  onCopy(async (folder, { ada }) => {
    expect((await run(['pipeline', '--all', '--store', folder])).code).toBe(0);
    const before = await withStore(folder, (store) => everythingOf(store, ada!));
    changeRow(folder, ada!, place, garbage);
    const { findings } = await checkStore(folder);
    expect(findings).toMatchObject([{ code: 'DAMAGED_ROW', user_id: ada, cure: `mobility rebuild --user ${ada}` }]);
    const rebuilt = await run(['rebuild', '--user', ada!, '--store', folder]);
    expect(rebuilt, rebuilt.stderr).toMatchObject({ code: 0, stderr: expect.stringContaining(`table ${place[1]}`) });
    expect(rebuilt.stderr).not.toMatch(/(row \d+): \1/);
    expect(await withStore(folder, (store) => everythingOf(store, ada!))).toBe(before);
    expect(await checkStore(folder)).toMatchObject({ sound: true });
  }),
);

it('a mending that fails changes no row and holds up nobody after it', { timeout: patience }, () =>
  onCopy(async (folder, { ada }) => {
    changeRow(folder, ada!, ['timeseries', 'chunks', 'entries'], garbage);
    const { findings } = await checkStore(folder);
    const kept = join(folder, 'kept.jsonl');
    await writeFile(kept, 'of another time');
    const mendInto = (file: string) => run(['store', 'mend', '--user', ada!, '--keep', file, '--store', folder]);
    const failed = await mendInto(kept);
    expect(failed).toMatchObject({ code: 2, stderr: expect.stringContaining(`found ${kept}, which exists`) });
    expect(await readFile(kept, 'utf8')).toBe('of another time');
    expect((await checkStore(folder)).findings).toEqual(findings);
    expect(await withStore(folder, (store) => store.leases.get(ada!))).toBeNull();
    expect((await mendInto(join(folder, 'new.jsonl'))).code).toBe(3);
  }),
);

it('what cannot be read leaves the store into a file, and nothing else does', { timeout: patience }, () =>
  onCopy(async (folder, { ada, ben }) => {
    const before = await digestsOf(folder);
    changeRow(folder, ada!, ['timeseries', 'chunks', 'entries'], garbage);
    changeRow(folder, ada!, ['usercache', 'batches', 'columns'], garbage);
    const exported = await run(['export', '--user', ada!, '--entries', '--store', folder]);
    expect(exported.stderr).toMatch(
      /MOBILITY_STORE_DAMAGED: .*: a row is not as it was written \([^()]+\); nothing was changed/,
    );
    const kept = join(folder, 'kept.jsonl');
    const mend = await run(['store', 'mend', '--user', ada!, '--keep', kept, '--json', '--store', folder]);
    expect(mend, mend.stderr).toMatchObject({ code: 3 });
    const { mended } = JSON.parse(mend.stdout);
    expect(mended.map(({ table, outcome }: Record<string, string>) => `${table} ${outcome}`).sort()).toEqual([
      'batches kept',
      'chunks removed',
    ]);
    const lines = (await readFile(kept, 'utf8'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.map(({ table }) => table).sort()).toEqual(['batches', 'chunks']);
    expect(lines.every(({ columns }) => columns.entries.base64.length > 0)).toBe(true);
    expect(await checkStore(folder)).toMatchObject({ sound: true });
    const after = await digestsOf(folder);
    const of = (all: typeof before, uuid: string) => all.find(({ user_id }) => user_id === uuid)!;
    expect(of(after, ben!)).toEqual(of(before, ben!));
    expect(of(after, ada!).rows.usercache).toBe(of(before, ada!).rows.usercache);
    expect((await run(['pipeline', '--all', '--store', folder])).code).toBe(0);
  }),
);

it('entries that left a damaged batch do not come back over what was pushed since', { timeout: patience }, () =>
  onCopy(async (folder, { ada }) => {
    const waitingIn = () => withStore(folder, (store) => store.usercache.read(ada!, { limit: 100_000 }));
    const byTime = (await waitingIn()).sort((a, b) => a.entry.metadata.write_ts - b.entry.metadata.write_ts);
    const entries = byTime.slice(-50).map(({ entry }) => ({ ...entry, data: { ...entry.data, again: 1 } }));
    await withStore(folder, (store) => store.usercache.put(ada!, { entries, unusable: [] }, 2));
    const contents = async () => (await waitingIn()).map(({ entry }) => entry);
    const before = await contents();
    changeRow(folder, ada!, ['usercache', 'batches', 'columns'], garbage); // of the first batch
    const told = ['store', 'mend', '--user', ada!, '--keep', join(folder, 'kept.jsonl'), '--store', folder];
    expect((await run(told)).code).toBe(0);
    expect(await contents()).toEqual(before);
  }),
);
