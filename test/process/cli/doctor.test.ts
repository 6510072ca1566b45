// `mobility doctor` and `mobility status` on faults that are planted as they happen: through the door of the server
// where a phone is at fault.
import { spawnSync } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { putBatch } from '../../../src/intake/put-batch.ts';
import { silentLog } from '../../../src/log/log.ts';
import type { JsonObject } from '../../../src/model/json.ts';
import { runAll } from '../../../src/pipeline/run-all.ts';
import { runPipeline } from '../../../src/pipeline/run-pipeline.ts';
import { simulateDay } from '../../../src/simulate/simulate-day.ts';
import { refuse, run as runOn, show as showOn } from '../../cli/kit.ts';
import { androidLocation, basic, config, type Kit, listen, openKit } from '../../server/kit.ts';
import { share } from '../../support/sample.ts';
import { until } from '../../support/until.ts';

const day = 86_400;
const start = Date.UTC(2024, 2, 12) / 1000;
let kit: Kit;
let clock: number;
let ada: string;
let token: string;
beforeEach(async () => {
  clock = start;
  kit = await openKit({ config: { ...config, auth: 'token' }, now: () => clock });
  ada = await register('ada');
  token = (await run('users', 'token', 'ada')).stdout.trim();
});

const now = (): number => clock;
const register = async (name: string): Promise<string> =>
  (await kit.store.users.register(name, { now: clock })).user.uuid;
const surroundings = () => ({
  env: { MOBILITY_STORE: kit.store.address, MOBILITY_LOG_DIR: `${folder()}/logs` },
  now: clock,
});
const run = (...args: string[]) => runOn(args, surroundings());
/** Runs a line that must end with the code, and print the text. */
const show = (line: string, text: string | RegExp, code = 0) => showOn(line, text, { ...surroundings(), code });
const folder = (): string => kit.store.address.replace('sqlite:', '');
const push = async (...entries: JsonObject[]): Promise<number> => (await kit.put(entries, token)).status;
const pipeline = () => runPipeline(kit.store, ada, { log: silentLog, now });
const owntracks = (tst: number): JsonObject => ({ _type: 'location', lat: 52.5, lon: 13.4, acc: 12, tst });
/** Pushes a location, runs the pipeline, and lets time pass. */
const live = async (seconds: number): Promise<void> => {
  expect(await push(androidLocation(clock))).toBe(200);
  await pipeline();
  clock += seconds;
};

type Broken = Record<'link' | 'why' | 'next', string> & { code?: string };
/** The first failed step that the doctor finds for ada, with one remedy, or null. */
async function broken(...flags: string[]): Promise<Broken | null> {
  const result = await run('doctor', '--user', 'ada', '--json', ...flags);
  const { broken: found } = result.json<{ broken: Broken | null }>();
  expect([result.code, result.stderr]).toEqual([found === null ? 0 : 3, '']);
  const text = await run('doctor', '--user', 'ada', ...flags);
  expect(text.stdout).not.toMatch(/mob_|37\.87|52\.5/);
  if (found !== null) {
    expect(text.stdout).toContain(`BROKEN  ${found.link}`);
    expect(text.stdout.match(/^next: {3}/gm)).toHaveLength(1);
    expect(found.next).not.toBe('');
  } else expect(text.stdout).toContain('all steps succeed');
  return found;
}
/** Fails unless the first failed step of ada is this one, with these reasons and remedies. */
async function expectBroken(link: string, code: string, { why = /./, next = /./ } = {}): Promise<void> {
  const texts = { why: expect.stringMatching(why), next: expect.stringMatching(next) };
  expect(await broken()).toMatchObject({ link, code, ...texts });
}
const states = async (): Promise<Record<string, number>> =>
  (await run('status', '--json')).json<JsonObject>().people as never;

it('the doctor refuses a future day, and `users list` takes several states', async () => {
  const future = 'up to today, 2024-03-12, found 2031-01-01';
  await refuse('doctor --user ada --day 2031-01-01', future, surroundings());
  for (const states of ['in_order never_began', 'never_began in_order']) {
    const flags = states.split(' ').flatMap((one) => ['--state', one]);
    expect((await run('users', 'list', ...flags, '--json')).json()).toMatchObject({ users: [{ user_email: 'ada' }] });
  }
});

it('without a fault the doctor reports that all steps succeed, and status that all users are in order', async () => {
  await push(androidLocation(clock));
  await show('doctor --user ada', /no step fails; no run has processed .*\nnext: {3}mobility pipeline --user ada\n/);
  await live(60);
  expect(await broken()).toBeNull();
  await show('status', /^people +1: 1 in order\n/);
});

describe('the first failing step is named, with its remedy:', () => {
  it.each([
    ['revoked', 'called', 'refused', /users token ada/, 3],
    ['stopped', 'joined', 'stopped', /^nothing/, 0], // by the person: no action is needed
  ] as const)('token %s, while the phone still calls', async (why, link, state, next, code) => {
    await live(60);
    const [token] = await kit.store.tokens.list(ada);
    await kit.store.tokens.revoke(ada, token!.hash, { ts: clock, why });
    clock += 60;
    expect(await push(androidLocation(clock))).toBe(403);
    await until(async () => (await kit.store.profiles.get(ada))?.last_refusal_ts === clock);
    await expectBroken(link, state, { next });
    await show('status', '', code);
    expect(await states()).toMatchObject({ stopped: 0, refused: 0, [state]: 1 });
  });

  it('killed run', async () => {
    await live(60);
    await push(androidLocation(clock));
    const { pid } = spawnSync(process.execPath, ['-e', '0']);
    await kit.store.leases.acquire(ada, `pipeline ${pid} on ${hostname()}`, 60);
    await expectBroken('moved', 'run_stopped', { why: new RegExp(`pipeline ${pid}`) });
    const killed = new RegExp(`^killed +ada: pipeline ${pid} on .*; the first run after .* continues$`, 'm');
    const { stdout } = await show('status', killed);
    expect(stdout + (await run('doctor', '--user', 'ada')).stdout).not.toContain('at work');
    await kit.store.leases.acquire(await register('ben'), `pipeline ${process.pid} on ${hostname()}`, 60);
    await show('status', /^at work +ben: pipeline \d+ on .*, until /m);
    const runs = (await run('status', '--json')).json().run;
    expect(runs).toMatchObject({ at_work: [{ user_email: 'ben' }], killed: [{ user_email: 'ada' }] });
  });

  it('wrong study: the token of a participant names it', async () => {
    await run('study', 'create', 'sunny');
    const wrong = `nrelop_rainy_default_${'x'.repeat(32)}`;
    expect((await kit.post('/profile/create', { user: wrong })).status).toBe(403);
    const joined = /^BROKEN {2}joined: .*study rainy.*studies: sunny\.\nnext: /;
    expect((await show(`doctor --user ${wrong}`, joined, 3)).stdout).not.toContain('xxxx');
  });

  it.each([
    ['encrypted', 'stored', /encryption key/, 'pub', (i: number) => ({ _type: 'encrypted', data: `bWFkZSB1${i}` })],
    ['unknown_messages', 'stored', /set up the app/, 'pub', (i: number) => ({ position: '52.5', tst: clock + i })],
    ['misdated', 'located', /receiver/, 'pub', (i: number) => ({ ...owntracks(clock + i), tst: 1_176_500_000 + i })],
    ['inexact', 'located', /Precise Location/, 'pub', (i: number) => ({ ...owntracks(clock + i), acc: 2500 })],
    ['inexact', 'located', /Precise Location/, 'put', (i: number) => androidLocation(clock + i, { accuracy: 2500 })],
    ['misdated', 'located', /receiver/, 'put', (i: number) => androidLocation(clock + i, { ts: 1_176_500_000 + i })],
  ] as const)('no usable location arrives: %s', async (code, link, next, path, message) => {
    const send = async (body: JsonObject): Promise<void> => {
      const calls = { pub: () => kit.post('/pub', body, basic('ada', token)), put: () => kit.put([body], token) };
      expect((await calls[path]()).status).toBe(200);
    };
    for (let i = 0; i < 5; i += 1) await send(message(i));
    await pipeline();
    await expectBroken(link, code, { next });
    const troubled = { unusable: [{ user_email: 'ada' }] };
    expect((await run('status', '--json')).json()).toMatchObject({ people: { unusable: 1 }, troubled });
    await show('status', /nothing usable +ada/, 3);
    // A phone that worked before is judged after a day.
    await live(3600);
    expect(await broken()).toBeNull();
    await send(message(10_000));
    expect(await broken()).toBeNull();
    clock += day;
    await send(message(100_000));
    await pipeline();
    await expectBroken(link, code, { next });
  });

  it('a gap in a day, with the entries that the phone sent during it', async () => {
    const hole = { from: start + 6 * 3600, to: start + 14 * 3600 };
    const home: [number, number] = [13.4, 52.5];
    const sent = ['2024-03-11', '2024-03-12', '2024-03-13'].flatMap((one) =>
      simulateDay({ platform: 'android', day: one, seed: 'hole', home, zone: 'UTC' }),
    );
    const isKept = ({ metadata: { key }, data: { ts } }: (typeof sent)[number]): boolean =>
      !key.includes('location') || Number(ts) < hole.from || Number(ts) > hole.to;
    clock += 2 * day;
    await putBatch(ada, sent.filter(isKept), { store: kit.store, now });
    await pipeline();
    const silent = /: no location .*\d\d:\d\d-1[2-5]:\d\d .*silent\), although the phone sent \d+/;
    const located = new RegExp(`BROKEN  located: 2024-03-12, times of UTC${silent.source}`);
    await show('doctor --user ada --day 2024-03-12', located, 3);
    expect(await broken()).toBeNull();
    await run('correct', 'set-aside', '--user', 'ada', '--day', '2024-03-13');
    const taken = /2024-03-13, times of UTC: a correction excludes .*\nnext: .*mobility correct list/;
    expect((await show('doctor --user ada --day 2024-03-13', taken, 3)).stdout).not.toContain('location to');
  });

  it('a proxy that answers 413, distinguished from a 413 of the server itself', async () => {
    const inner = `http://127.0.0.1:${(await listen(kit.app)).port}`;
    const proxy = createServer((incoming, outgoing) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk) => chunks.push(chunk));
      incoming.on('end', async () => {
        const body = Buffer.concat(chunks);
        if (body.length > 2 ** 20) return void outgoing.writeHead(413).end('<html>too large</html>');
        const answer = await fetch(inner + incoming.url);
        outgoing.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
      });
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void proxy.close());
    await until(() => proxy.listening);
    clock = Date.now() / 1000;
    await run('backup', `${folder()}-copy`);
    await show(`doctor --url ${inner}`, /^ok +proxy /m);
    const outer = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    await show(`doctor --url ${outer}`, /^BROKEN +proxy +a body of 4 MiB is answered with 413/m, 3);
  });
});

it('the doctor and status find no fault for users without one, nor in their days', async () => {
  const users = share(200);
  for (let i = 1; i <= users; i++) {
    const uuid = await register(`sound-${i}`);
    const platform = i % 2 === 0 ? 'ios' : 'android';
    clock = start + 1.5 * day;
    // Of some also the day before: their nights are known by both sides.
    for (const one of i <= 20 ? ['2024-03-11', '2024-03-12'] : ['2024-03-12'])
      await putBatch(uuid, simulateDay({ platform, day: one, seed: `s-${i}` }), { store: kit.store, now });
  }
  clock += 60;
  await runAll(kit.store, { log: silentLog, now });
  clock += 60;
  expect(await states()).toMatchObject({ all: users + 1, in_order: users, never_began: 1 });
  const wrong: string[] = [];
  for (let i = 1; i <= users; i++) {
    const result = await run('doctor', '--user', `sound-${i}`, '--day', '2024-03-12');
    if (result.code !== 0) wrong.push(result.stdout);
  }
  expect(wrong).toEqual([]);
});
