// Damage that is there when a program starts: told at once by whoever starts, within a bound of time; it stops those
// whose data it hit, and nobody else.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { isUuid } from '../../src/model/ids.ts';
import { checkStore, lookAtStore } from '../../src/store/open.ts';
import { connect } from '../../src/store/sqlite/driver.ts';
import { run } from '../cli/kit.ts';
import { changeRow, fillStore, garbage, inFolder, patience, pushesOf } from './kit.ts';
import { startServer } from './program.ts';

const people = (days: number) => ({ ada: pushesOf('ada', 'android', days), ben: pushesOf('ben', 'ios', days) });

it(
  'is told by status, serve and pipeline until a check finds nothing, and the others go on',
  { timeout: patience },
  () =>
    inFolder(async (folder) => {
      const on = ['--store', folder];
      const { ada, ben } = await fillStore(folder, people(1));
      expect((await run(['pipeline', '--all', ...on])).stderr).toBe('');
      expect((await run(['status', '--json', ...on])).json()).toMatchObject({ last_check: null });

      for (const table of ['trips', 'documents']) {
        changeRow(folder, ada!, ['timeseries', table, { trips: 'record', documents: 'data' }[table]!], garbage);
      }
      // Nobody has checked: a short look at the start sees it all the same.
      await fillStore(folder, people(2));
      const all = await run(['pipeline', '--all', '--json', ...on]);
      expect(all.stderr).toContain(`DAMAGED_ROW: timeseries-0.sqlite, table trips, user ${ada}`);
      expect(all.stderr).toContain(`mobility rebuild --user ${ada}`);
      const statusOf = (uuid: string) =>
        all.json<{ reports: { user_id: string; status: string }[] }>().reports.find((one) => one.user_id === uuid)
          ?.status;
      expect([all.code, statusOf(ada!), statusOf(ben!)]).toEqual([3, 'failed', 'done']);

      expect((await run(['store', 'check', ...on])).code).toBe(3);
      const known = /the check of \d{4}-\d\d-\d\d \d\d:\d\d found: (1|2) DAMAGED_ROW in timeseries-0\.sqlite/;
      expect((await run(['status', ...on])).stdout).toMatch(known);
      const kept = readFileSync(join(folder, 'last-check.json'), 'utf8');
      expect([ada, ben, 'ada', 'ben'].filter((name) => kept.includes(name!))).toEqual([]);

      const server = await startServer(folder);
      await expect.poll(() => server.output().stderr, { timeout: 60_000 }).toMatch(known);
      expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
      expect((await server.post('/usercache/put', { user: 'ben', phone_to_server: [] })).status).toBe(200);
      expect((await server.stop()).code).toBe(0);
      const logs = join(folder, 'logs');
      const lines = readdirSync(logs).map((name) => readFileSync(join(logs, name), 'utf8'));
      expect(lines.some((text) => known.test(text))).toBe(true);
      expect(lines.some((text) => text.includes(`DAMAGED_ROW: timeseries-0.sqlite, table trips, user ${ada}`))).toBe(
        true,
      );

      expect((await run(['rebuild', '--user', ada!, ...on])).code).toBe(0);
      expect((await run(['store', 'check', ...on])).code).toBe(0);
      expect((await run(['status', ...on])).stdout).toMatch(/the check of \S+ \S+ found nothing/);
      expect((await run(['pipeline', '--all', ...on])).stderr).toBe('');
    }),
);

it('of one user leaves this user out of an export of everybody, by name and reason', { timeout: patience }, () =>
  inFolder(async (folder) => {
    const on = ['--store', join(folder, 'store')];
    const uuids = await fillStore(on[1]!, { ...people(2), cem: pushesOf('cem', 'android', 2) });
    expect((await run(['pipeline', '--all', ...on])).code).toBe(0);
    // One of them behind rows that can be read, in a table that is written late.
    changeRow(on[1]!, uuids.ada!, ['timeseries', 'chunks', 'entries'], garbage);
    changeRow(on[1]!, uuids.ben!, ['timeseries', 'trips', 'record'], garbage);
    const mends = [/^ada is left out: .*mobility store mend --user/m, /^ben is left out: .*mobility rebuild --user/m];

    for (const format of ['csv', 'parquet']) {
      const out = join(folder, format);
      const tables = await run(['export', '--all', '--format', format, '--out', out, '--json', ...on]);
      expect(tables.code, tables.stderr).toBe(3);
      for (const mend of mends) expect(tables.stderr).toMatch(mend);
      const { left_out } = tables.json<{ left_out: { user_id: string }[] }>();
      expect(left_out.map(({ user_id }) => user_id).sort()).toEqual([uuids.ada, uuids.ben].sort());
      const alone = join(folder, `${format}-alone`);
      await run(['export', '--user', 'cem', '--format', format, '--out', alone, ...on]);
      const names = readdirSync(alone);
      expect(readdirSync(out)).toEqual(names);
      for (const name of names) expect([name, sumOf(join(out, name))]).toEqual([name, sumOf(join(alone, name))]);
    }

    const archives = await run(['export', '--all', '--out', join(folder, 'archives'), ...on]);
    expect(archives.code, archives.stderr).toBe(3);
    for (const mend of mends) expect(archives.stderr).toMatch(mend);
    expect(readdirSync(join(folder, 'archives'))).toEqual([uuids.cem]);

    for (const flags of [['--format', 'csv'], []]) {
      for (const whom of [
        ['--user', 'ada'],
        ['--user', 'ada', '--user', 'ben'],
      ]) {
        const none = join(folder, 'none');
        const failed = await run(['export', ...whom, ...flags, '--out', none, ...on]);
        expect([failed.code, failed.stderr]).toEqual([1, expect.stringContaining('MOBILITY_STORE_DAMAGED')]);
        expect(readdirSync(none)).toEqual([]);
      }
    }
  }),
);

const sumOf = (path: string): string => createHash('sha256').update(readFileSync(path)).digest('hex');

it('a look ends when its time is over, and changes nothing', { timeout: patience }, () =>
  inFolder(async (folder) => {
    const { ada } = await fillStore(folder, people(1));
    changeRow(folder, ada!, ['usercache', 'batches', 'entries'], garbage);
    const content = () => readFileSync(join(folder, 'usercache-0.sqlite')).toString('base64');
    const before = content();
    const nothing = { findings: [], unchecked: [] };
    expect(await lookAtStore(folder, { milliseconds: 0 })).toEqual(nothing);
    expect(await lookAtStore(folder, { milliseconds: 60_000, signal: AbortSignal.abort() })).toEqual(nothing);
    const { findings } = await lookAtStore(folder, { milliseconds: 60_000 });
    expect(findings).toMatchObject([{ code: 'DAMAGED_ROW', table: 'batches', user_id: ada }]);
    expect(content()).toBe(before);
  }),
);

it('rows of somebody who came while the check ran are no damage', { timeout: patience }, () =>
  inFolder(async (folder) => {
    const { ada } = await fillStore(folder, people(1));
    const other = 'ada0ada0-0000-4000-8000-00000000000a';
    expect(isUuid(other)).toBe(true);
    let came = false;
    const onProgress = (text: string): void => {
      if (came || text !== 'references') return; // the numbers of users have been read, and rows have not
      const connection = connect(join(folder, 'usercache-0.sqlite'));
      connection.prepare('INSERT INTO user_ids (id, uuid, admitted) VALUES (99, ?, 1)').run(other);
      connection
        .prepare('UPDATE batches SET user = 99 WHERE user = (SELECT id FROM user_ids WHERE uuid = ?)')
        .run(ada!);
      connection.close();
      came = true;
    };
    expect((await checkStore(folder, { onProgress })).findings).toEqual([]);
    expect(came).toBe(true);
    expect((await checkStore(folder)).findings).toMatchObject([{ code: 'UNOWNED_ROWS', user_id: other }]);
  }),
);
