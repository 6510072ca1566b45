// What failed, in one line for each cause: `mobility errors`, `logs errors`, a run that is watched, and recovery.
import { beforeEach, expect, it, vi } from 'vitest';
import type { Entry } from '../../../src/model/entry.ts';
import { freshProgram, type Program } from '../../cli/kit.ts';
import type { Untyped } from '../../support/untyped.ts';

const fault = vi.hoisted(() => ({ battery: true }));
vi.mock('../../../src/intake/converters/battery.ts', async (original) => {
  const converters = await original<typeof import('../../../src/intake/converters/battery.ts')>();
  const { convertAndroidBattery } = converters;
  const breakable: typeof convertAndroidBattery = function convertAndroidBattery_(entry) {
    if (fault.battery) throw new TypeError("Cannot read properties of undefined (reading 'code')");
    return convertAndroidBattery(entry);
  };
  return { ...converters, convertAndroidBattery: breakable };
});

const start = 1_720_000_000;
const entry = (key: string, ts: number, data: object, platform = 'android') =>
  ({ metadata: { key, platform, write_ts: ts, time_zone: 'UTC', type: 'message' }, data: { ts, ...data } }) as Entry;
const battery = (ts: number) => entry('background/battery', ts, { battery_level_pct: 50, battery_status: 2 });
const wrong = (ts: number) => entry('background/location', ts, { latitude: 'x', longitude: 13.123456 }, 'ios');

let program: Program;
beforeEach(async () => {
  fault.battery = true;
  program = await freshProgram('eva');
  await program.withStore(async (store) => {
    const batteries = Array.from({ length: 20 }, (_, i) => battery(start + i));
    for (const [name, client_app_version, entries] of [
      ['ada', '1.9', batteries],
      ['ben', '1.9', batteries],
      ['cal', '2.0', [...batteries, wrong(start)]],
    ] as const) {
      const { user } = await store.users.register(name, { now: start });
      await store.profiles.merge(user.uuid, { client_app_version });
      await store.usercache.put(user.uuid, { entries, unusable: [] }, start);
    }
  });
});

it('a converter that throws is a program fault: first in the summary, exit code 3, one ERROR per user', async () => {
  const { run, show, logs, json } = program;
  const fault = /^PROGRAM FAULT: a converter failed, 60 entries rejected, nothing is lost; see: mobility errors\n/;
  await show(['pipeline', '--all'], fault, { code: 3 });
  await show('status', 'PROGRAM FAULT conversion_failed', { code: 3 });
  const next = expect.stringMatching(/recover-errors/);
  expect((await json('doctor --user ada')).broken).toMatchObject({ link: 'converted', code: 'program_fault', next });
  const log = logs();
  const failed = /:ERROR:.*converter of background\/battery failed: TypeError: .* at \S*convertAndroidBattery/g;
  expect(log.match(failed)).toHaveLength(3);
  // The file has a line for each entry; the screen one for each person, key and reason.
  expect(log.match(/:WARNING:.*Got error .* while saving entry/g)).toHaveLength(61);
  const shown = await run(['logs', 'errors']);
  expect(shown.stdout.match(/Got error/g)).toHaveLength(4);
  expect(shown.stderr.match(/^19 more like: .*background\/battery/gm)).toHaveLength(3);
});

it('errors counts by reason, key, platform, version and user, and recovery takes the same filters', async () => {
  const { run, show, json } = program;
  await run(['pipeline', '--all']);
  const listed =
    /^40 entries {2}2 people {2}background\/battery {2}android {2}app 1.9 .*\n {4}PROGRAM FAULT: TypeError: Cannot.*\n {4}[0-9a-f]{24}\n20 entries {2}1 person .* app 2.0 [\s\S]*\n1 entry {2}1 person {2}background\/location {2}ios {2}app 2.0 .*\n {4}wrong_type: data\.latitude: expected a number/;
  expect((await show(['errors'], listed, { code: 3 })).stderr).toContain(
    '61 entries; to see one: mobility errors show ID; after an update: mobility recover-errors, with the same flags',
  );
  const wrongType = { fault: false, reason: 'wrong_type', entries: 1, people: 1, version: '2.0' };
  const only = await run('errors --platform ios --json');
  expect([only.code, only.json()]).toMatchObject([0, { errors: [wrongType] }]);
  fault.battery = false;
  const tried = /\nin all: 40 errors retried, 40 would be recovered\n$/;
  expect((await show(['recover-errors', '--app-version', '1.9', '--dry-run'], tried)).stderr).toBe('');
  const recovered = await run('recover-errors --app-version 1.9 --platform android --json');
  expect(recovered.stderr).toBe('next: mobility pipeline --all\n');
  const counts = recovered.json<Untyped>().users.map((one: Untyped) => `${one.user_email} ${one.recovered}`);
  expect(counts.sort()).toEqual(['ada 20', 'ben 20']);
  expect((await json('errors')).errors).toHaveLength(2);
});

it('errors show hides the values of the entry unless a flag asks for them', async () => {
  const { run, show, refuse, json } = program;
  await run(['pipeline', '--user', 'cal']);
  const [{ id }] = (await json('errors', '--platform', 'ios')).errors;
  const shown = /^user +cal\nreason +wrong_type\n[\s\S]*"latitude":"a? ?(text|string)"/;
  expect((await show(['errors', 'show', id], shown)).stdout).not.toContain('13.123456');
  await show(['errors', 'show', id, '--coordinates'], '13.123456');
  await refuse(['errors', 'show', 'ffff'], 'MOBILITY_USAGE');
});

it('a run of one user with --debug also prints its log lines, each repeated line once', async () => {
  const { run } = program;
  const result = await run(['pipeline', '--user', 'ada', '--debug']);
  expect(result.code).toBe(3);
  expect(result.stderr).toMatch(/:INFO:p\d+:.*move to long term/);
  expect(result.stderr.match(/Got error/g)).toHaveLength(2); // once, and once with the number of the others
  expect(result.stderr).toMatch(/^19 more like: .*Got error/m);
  expect((await run(['pipeline', '--user', 'ben'])).stderr).toBe('');
});
