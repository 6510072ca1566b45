// `mobility correct`: an operator corrects a day, sees it before and after, and can undo the correction.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { putBatch } from '../../src/intake/put-batch.ts';
import { allEntries } from '../support/diary.ts';
import type { Untyped } from '../support/untyped.ts';
import { freshProgram, type Program, simulatedProgram } from './kit.ts';

const day = '2024-03-12';
const user = ['--user', 'sim-ada-1@example.org'];
const now = 1_720_000_000;

let program: Program;
beforeAll(async () => {
  program = await simulatedProgram(`--users 2 --days 2 --from ${day} --seed ada`);
});

const json = (...args: string[]) => program.json(...args);
const diary = (name = user[1]!) => json('diary', '--user', name, '--day', day);
const clock = (ts: number) => new Date((ts + 3 * 3600) * 1000).toISOString().slice(11, 16); // Africa/Nairobi
const between = (from: number, to: number) => clock((from + to) / 2);
/** The trips of the day as they are. */
const tripsNow = async (): Promise<Untyped[]> =>
  (await correct('place-name', '--day', day, '--at', '00:00', '--name', 'x', '--dry-run')).before;

/** Without ids: an added trip has a different one each time. */
const shapeOf = (trips: Untyped[]) =>
  trips.map(({ start_ts, end_ts, distance, end_place, sections }) => [
    [start_ts, end_ts, distance, end_place.name],
    sections.map(({ id: _, ...section }: Untyped) => section),
  ]);

let stated = 0;
async function correct(what: string, ...flags: string[]) {
  stated += 1;
  const args = ['correct', what, ...user, ...flags, '--json'];
  const { code, stderr, json } = await program.run(args, { now: now + stated });
  return { code, stderr, ...(code === 0 && json()) };
}

describe('mobility correct', () => {
  const around = (trips: Untyped[]) => {
    const [from, to] = [clock(trips[1].start_ts - 600), clock(trips[2].end_ts + 600)];
    return ['--from', from, '--to', to];
  };
  const afterFirst = (trips: Untyped[]) => ['--at', between(trips[0].end_ts, trips[1].start_ts)];
  it.each<[string, (trips: Untyped[]) => string[]]>([
    ['mode', (trips) => ['--at', clock(trips[0].sections[0].start_ts + 60), '--mode', 'tram']],
    ['split', (trips) => ['--at', between(trips[0].start_ts, trips[0].end_ts)]],
    ['join', afterFirst],
    ['drop', (trips) => ['--at', between(trips[1].start_ts, trips[1].end_ts)]],
    ['add', () => ['--from', '03:00', '--to', '03:30', '--mode', 'train', '--distance', '21000']],
    ['at-place', around],
    ['at-home', around],
    ['place-name', (trips) => [...afterFirst(trips), '--name', 'Office']],
    ['set-aside', () => []],
  ])('%s: a dry run shows the effect, and the undo restores the day', async (what, flagsOf) => {
    const before = await diary();
    const other = await diary('sim-ada-2@example.org');
    const flags = ['--day', day, ...flagsOf(await tripsNow()), '--reason', 'said on the phone', '--by', 'helen'];
    const dry = await correct(what, ...flags, '--dry-run');
    expect([dry.code, await diary()]).toEqual([0, before]);
    const done = await correct(what, ...flags);
    const effect = what === 'drop' ? 'contradicted' : 'applied'; // the next trip begins elsewhere
    expect([done.effect, done.before, shapeOf(done.after)]).toEqual([effect, dry.before, shapeOf(dry.after)]);
    expect(done.after).not.toEqual(done.before);
    expect(await diary()).not.toEqual(before);
    const out = join(program.folder, `table-${what}`);
    await program.run(['export', ...user, '--format', 'csv', '--kind', 'trips', '--out', out]);
    const table = await readFile(join(out, 'trips.csv'), 'utf8');
    if (['mode', 'split', 'join', 'add'].includes(what)) expect(table).toContain(',true,');
    const { corrections } = await json('correct', 'list', ...user);
    expect(corrections.at(-1)).toMatchObject({ id: done.id, effect, correction: { author: 'helen' } });
    const undone = await correct('undo', '--id', done.id.slice(0, 10));
    expect(undone.after).toEqual(done.before);
    expect([await diary(), await diary('sim-ada-2@example.org')]).toEqual([before, other]);
  });

  it('refuses missing values, unknown modes and unknown ids; a time without a trip has no effect', async () => {
    for (const [line, found] of Object.entries({
      [`mode --day ${day} --at 08:00`]: 'expected --mode',
      [`drop --day ${day}`]: 'expected --at',
      'split --at 08:00': 'expected --day',
      [`mode --day ${day} --at 08:00 --mode dragon`]: '--mode: expected one of',
      [`at-home --day ${day} --from 09:00 --to 08:00`]: '--to: expected a time after --from (09:00), found 08:00',
      [`add --day ${day} --mode bus`]: 'expected --from and --to, found neither',
      [`add --day ${day} --mode bus --from 08:00`]: 'expected --from and --to, found --from alone',
      [`add --day ${day} --mode bus --to 08:00`]: 'expected --from and --to, found --to alone',
      'undo --id ffff': 'expected the id of one correction',
    }))
      await program.refuse(['correct', ...line.split(' '), ...user], found);
    await program.refuse(
      ['correct', 'place-name', ...user, '--day', day, '--at', '08:00', '--name', ' '],
      'expected --name',
    );
    const { effect, before, after } = await correct('drop', '--day', day, '--at', '02:00');
    expect([effect, after]).toEqual(['without effect', before]);
  });

  it('refuses a time in the future, and excludes today only up to now; an hour may have one digit', async () => {
    const today = ['--day', '2024-07-03'];
    for (const [date, time] of [['2024-12-24'], ['2024-07-03', '23:00']]) {
      const line = `correct set-aside ${user.join(' ')} --day ${date}${time ? ` --to ${time}` : ''} --dry-run`;
      const refusal = `expected a time before now, 2024-07-03 12:4\\d in .*found ${date} ${time ?? '00:00'}`;
      await program.refuse(line, new RegExp(refusal), { now: now + stated });
    }
    expect((await correct('set-aside', ...today, '--dry-run')).correction.end_ts).toBe(now + stated);
    const { correction, time_zone } = await correct('drop', '--day', day, '--at', '2:05', '--dry-run');
    expect([time_zone, clock(correction.ts)]).toEqual(['Africa/Nairobi', '02:05']);
  });

  it('reports that a time without entries of the source has no effect', async () => {
    const dry = async (...flags: string[]) => {
      const { stdout } = await program.run(['correct', 'set-aside', ...user, ...flags, '--dry-run']);
      return stdout.trimEnd().split('\n').at(-1);
    };
    expect(await dry('--day', day, '--source', 'android')).toBe('would apply  nothing was changed');
    expect(await dry('--day', day, '--source', 'andriod')).toBe('would be without effect  nothing was changed');
    const idle = ['--day', '2024-02-01'];
    expect(await dry(...idle)).toBe('would be without effect  nothing was changed');
    const { id } = await correct('set-aside', ...idle);
    const last = async () => (await json('correct', 'list', ...user)).corrections.at(-1);
    expect(await last()).toMatchObject({ id, effect: 'without effect', day: idle[1] });
    await correct('undo', '--id', id);
    expect(await last()).toMatchObject({ effect: 'applied', day: idle[1], correction: { author: 'operator' } });
    const again = await correct('undo', '--id', id);
    expect([again.code, again.stderr]).toEqual([2, expect.stringContaining('which is undone: see `mobility')]);
  });

  it('the entry of a correction has its author and reason only if they were given, and the trips that were seen', async () => {
    const trips = await tripsNow();
    const flags = ['--day', day, '--at', clock(trips[0].start_ts + 60)];
    const seen = [[trips[0].start_ts, trips[0].end_ts]];
    for (const fields of [{}, { author: 'helen' }, { reason: 'lost' }]) {
      const more = Object.entries(fields).flatMap(([name, text]) => [name === 'author' ? '--by' : '--reason', text]);
      const done = await correct('drop', ...flags, ...more);
      const entries = await program.withUser(user[1]!, (store, uuid) => allEntries(store.timeseries, uuid));
      const { data } = entries.findLast(({ metadata }) => metadata.key === 'manual/correction')!;
      expect(data).toMatchObject({ kind: 'drop', seen, ...fields });
      const own = Object.keys(data).filter((name) => !['kind', 'ts', 'seen', 'local_dt', 'fmt_time'].includes(name));
      expect(own).toEqual(Object.keys(fields));
      await correct('undo', '--id', done.id);
    }
  });

  it('set-aside --token excludes only entries that were pushed with that token', async () => {
    const ids: string[] = [];
    for (const at of [now, now + 1])
      ids.push((await program.run(['users', 'token', user[1]!, '--json'], { now: at })).json().id);
    const trips = await tripsNow();
    const cut = (trips[0].end_ts + trips[1].start_ts) / 2;
    await program.withUser(user[1]!, async (store, uuid) => {
      const all = await allEntries(store.timeseries, uuid);
      const pushed = (from: number, to: number) =>
        all.filter(({ metadata: { write_ts: at } }) => at >= from && at < to);
      const options = { store, now: () => now };
      await putBatch(uuid, pushed(0, cut), { ...options, sentWith: ids[0]! });
      await putBatch(uuid, pushed(cut, Number.MAX_VALUE), { ...options, sentWith: ids[1]! });
    });
    await program.run(['pipeline', ...user]);
    const before = await diary();
    const taken = await correct('set-aside', '--day', day, '--token', ids[1]!);
    expect(shapeOf(taken.before)).toEqual(shapeOf(trips));
    expect(taken.after.map((trip: Untyped) => trip.end_ts <= cut)).toEqual([true]);
    await correct('undo', '--id', taken.id);
    expect(await diary()).toEqual(before);
    const { code, stderr } = await correct('set-aside', '--day', day, '--token', 'ffffffff');
    expect([code, stderr]).toEqual([2, expect.stringContaining(`${ids[0]}, ${ids[1]}`)]);
  });

  it('corrections and their authors are kept by recovery, rebuild, export and import', async () => {
    const at = (ts: number) => ['--day', day, '--at', clock(ts)];
    const trips = await tripsNow();
    await correct('mode', ...at(trips[0].sections[0].start_ts + 60), '--mode', 'tram', '--by', 'helen');
    await correct('set-aside', '--day', day, '--from', '15:00', '--reason', 'borrowed phone');
    await program.run(['recover-errors', '--all']);
    await program.run(['rebuild', ...user]);
    const withoutReceipt = ({ corrections }: Untyped) =>
      corrections.map(({ correction: { received_ts: _, ...correction }, ...rest }: Untyped) => ({
        ...rest,
        correction,
      }));
    const [expected, listed] = [await diary(), withoutReceipt(await json('correct', 'list', ...user))];
    const uuid = await program.withUser(user[1]!, async (_, id) => id);

    const out = join(program.folder, 'out');
    expect((await program.run(['export', ...user, '--out', out])).code).toBe(0);
    const imported = await freshProgram();
    await imported.withStore((store) => store.users.register(user[1]!, { uuid, now })); // with their UUID, of which ids are made
    expect((await imported.run(['import', out])).code).toBe(0);
    await imported.run(['pipeline', '--all']);
    expect(withoutReceipt(await imported.json('correct', 'list', ...user))).toEqual(listed);
    expect(await imported.json('diary', ...user, '--day', day)).toEqual(expected);
  });
});
