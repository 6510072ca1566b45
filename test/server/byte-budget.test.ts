// The room that bodies and answers have in a process.
import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type BodyShare, ByteBudget, type ByteLimits, byteLimits, streamBytes } from '../../src/server/byte-budget.ts';
import { readBody } from '../../src/server/read-body.ts';
import { refusalOf, statusOf } from './kit.ts';

const mebibyte = 1024 * 1024;
const limits: ByteLimits = {
  small: { total: 160_000, perCaller: 40_000, perNetwork: 80_000 },
  smallSize: 10_000,
  large: { total: 1_000_000, perCaller: 600_000, perNetwork: 0 },
  strangers: { total: 500_000, perCaller: 0, perNetwork: 300_000 },
  answers: { total: 10 * mebibyte, perCaller: 4 * mebibyte, perNetwork: 4 * mebibyte },
  queue: 4,
  patience: 600_000,
};
const tick = () => new Promise((resolve) => setImmediate(resolve));

function open(changed: Partial<ByteLimits> = {}) {
  const clock = { now: 0 };
  const ended: string[] = [];
  const budget = new ByteBudget({ ...limits, ...changed }, () => clock.now);
  /** A body of a caller, or of a stranger of a network if the name begins with `net`. */
  const share = (name: string, expected = 0): BodyShare => {
    const own = budget.share(name.startsWith('net') ? name : null);
    if (!name.startsWith('net')) own.belongsTo(name);
    own.expected = expected;
    own.ended.catch(() => ended.push(name));
    return own;
  };
  const hold = async (name: string, bytes: number, expected = 0): Promise<BodyShare> => {
    const own = share(name, expected);
    await own.hold(bytes);
    return own;
  };
  return { budget, clock, ended, share, hold };
}

it('announced bytes do not count before they arrive', async () => {
  const { share, hold } = open();
  for (const name of ['ada', 'ada', 'eve', 'net 1']) share(name, 1e9);
  await hold('bob', 10_000);
  await hold('bob', 500_000, 500_000);
});

it('in a full budget, a small body is served, and the slowest of the owner with the most bytes ends', async () => {
  const { hold, ended, clock } = open();
  for (const name of ['ada', 'eve', 'joe', 'kim'])
    for (let i = 0; i < 4; i += 1) await hold(name, i === 0 && name !== 'joe' ? 9_999 : 10_000);
  const last = await hold('net 1', 1);
  last.release();
  clock.now = 6_000;
  const bob = await hold('bob', 2_000);
  await tick();
  expect([bob.bytes, ended]).toEqual([2_000, ['joe']]);
});

it('in a full budget, a body that arrives at 4 KiB/s ends only after every slower body of its owner', async () => {
  const { hold, ended, clock } = open({ small: { total: 30_000, perCaller: 30_000, perNetwork: 30_000 } });
  const quick = await hold('ada', 500);
  await hold('ada', 9_000);
  await hold('ada', 9_000);
  for (clock.now = 1_000; clock.now <= 6_000; clock.now += 500) await quick.hold(quick.bytes + 850);
  await hold('bob', 9_000);
  await hold('eve', 9_000);
  await tick();
  expect(ended).toEqual(['ada', 'ada']);
  expect(quick.bytes).toBeGreaterThan(9_000);
});

it('in a full budget, a body in a full queue takes the newest slot of the owner with the most', async () => {
  const { hold, share } = open();
  const first = await hold('ada', 600_000, 600_000);
  (await hold('zoe', 400_000, 400_000)).isReceived = true;
  first.isReceived = true;
  const refused: number[] = [];
  const waiting = Array.from({ length: 4 }, () => statusOf(share('eve', 100_000).hold(11_000)));
  for (const one of waiting) void one.then((status) => refused.push(status));
  await tick();
  expect(refused).toEqual([]);
  const bob = statusOf(share('bob', 100_000).hold(11_000));
  expect(await waiting[3]).toBe(503);
  first.release();
  expect(await bob).toBe(200);
});

it('large bodies wait until they fit, and small ones do not wait for them', async () => {
  const { hold, share } = open();
  const first = await hold('ada', 600_000);
  first.isReceived = true;
  const zoe = await hold('zoe', 20_000, 100_000);
  const waiting = share('bob', 500_000);
  const reading = waiting.hold(20_000);
  void zoe.hold(30_000); // A large body that grows does not wait for others.
  expect(zoe.bytes).toBe(30_000);
  for (const user of ['bob', 'eve', 'joe']) await hold(user, 10_000);
  expect(waiting.bytes).toBe(0);
  first.release();
  await expect(reading).resolves.toBeUndefined();
});

it('large bodies count for their caller while they wait', async () => {
  const { hold } = open({ patience: 20 });
  (await hold('ada', 600_000)).isReceived = true;
  const first = statusOf(hold('bob', 20_000, 500_000));
  expect(await statusOf(hold('bob', 100_001, 100_001))).toBe(429);
  expect(await first).toBe(503);
});

it('large bodies always fit alone', async () => {
  const only = await open().hold('ada', 2_000_000);
  await only.hold(3_000_000);
});

it('large bodies are processed one at a time, in their order', async () => {
  const { share } = open();
  const order: number[] = [];
  const shares = [0, 1, 2].map((i) => {
    const own = share('ada');
    void own.slot().then(() => order.push(i));
    return own;
  });
  await tick();
  expect(order).toEqual([0]);
  shares[1]!.release(); // gone while it waited
  shares[0]!.release();
  await tick();
  expect(order).toEqual([0, 2]);
});

it('the limits of a process', () => {
  expect(byteLimits).toEqual({
    small: { total: 16_777_216, perCaller: 1_048_576, perNetwork: 8_388_608 },
    smallSize: 131_072,
    large: { total: 16_777_216, perCaller: 12_582_912, perNetwork: 0 },
    strangers: { total: 16_777_216, perCaller: 0, perNetwork: 8_388_608 },
    answers: { total: 67_108_864, perCaller: 16_777_216, perNetwork: 16_777_216 },
    queue: 256,
    patience: 30_000,
  });
  expect(streamBytes).toBe(262_144);
});

describe('a body is slow', () => {
  const small = { total: 90_000, perCaller: 40_000, perNetwork: 80_000 };
  /** Whether a second body of eve ends her first one. If it is fast, the second one is refused. `body`: `ms: bytes`. */
  async function isEnded(body: Record<number, number>, now: number, isReceived = false): Promise<boolean> {
    const { share, ended, clock } = open({ small, smallSize: 40_000 });
    const own = share('eve');
    for (const [ms, bytes] of Object.entries(body)) {
      clock.now = Number(ms);
      await own.hold(own.bytes + bytes);
    }
    own.isReceived = isReceived;
    clock.now = now;
    const status = await statusOf(share('eve').hold(40_000));
    await tick();
    expect([status, ended.length]).toEqual(ended.length > 0 ? [200, 1] : [429, 0]);
    if (ended.length > 0)
      await expect(own.ended).rejects.toMatchObject({ status: 503, message: expect.stringContaining('too slowly') });
    return ended.length > 0;
  }

  it.each<[title: string, Record<number, number>, now: number, isSlow: boolean, isReceived?: boolean]>([
    ['below 4 KiB a second since it began', { 0: 10_000 }, 2442, true],
    ['not at 4 KiB a second', { 0: 10_000 }, 2441, false],
    ['not in its first second, which counts whole', { 0: 4096 }, 1000, false],
    ['in its first second below 4 KiB', { 0: 4095 }, 1, true],
    ['not while 4 KiB a second arrived in the last 5 s', { 0: 20_480 }, 5000, false],
    ['when these bytes are older', { 0: 20_480 }, 5001, true],
    ['not while older bytes count with the ones since', { 0: 20_479, 5000: 1 }, 5000, false],
    ['as bytes within half a second count from the first on', { 0: 1, 499: 20_480 }, 5001, true],
    ['not as later ones count from their own arrival on', { 0: 1, 500: 20_480 }, 5001, false],
    ['never once it has arrived', { 0: 10_000 }, 60_000, false, true],
  ])('%s', async (_, body, now, expected, isReceived) => {
    expect(await isEnded(body, now, isReceived)).toBe(expected);
  });
});

it('the parts of pools are used up to their last byte', async () => {
  const { hold, ended } = open({ smallSize: 50_000 });
  for (let i = 0; i < 2; i += 1) await hold('eve', 20_000);
  expect(await statusOf(hold('eve', 1))).toBe(429);
  for (const name of ['ada', 'bob', 'kim']) await hold(name, 40_000);
  await tick();
  expect(ended).toEqual([]);
  await hold('zoe', 1);
  await tick();
  expect(ended).toHaveLength(1);
});

it('the parts of pools tell a caller which limit their other bodies use up', async () => {
  const { hold } = open();
  await hold('ada', 400_000, 400_000);
  const refused = { status: 429, limit: 'waiting_bytes', most: 600_000, after: '5' };
  expect(await refusalOf(() => hold('ada', 200_001, 200_001))).toMatchObject(refused);
  await hold('ada', 200_000, 200_000);
});

it('the parts of pools of small and of large bodies of a network are separate', async () => {
  const { hold, ended } = open();
  for (let i = 0; i < 8; i += 1) await hold('net 1', 10_000);
  await hold('net 1', 150_000);
  await hold('net 1', 150_000);
  await tick();
  expect(ended).toEqual([]);
  const last = await hold('net 1', 10_001);
  await tick();
  expect([ended, last.bytes]).toEqual([['net 1'], 10_001]);
});

it('a body counts for its caller once they are known, and is kept even if there is no room', async () => {
  const { budget, hold } = open();
  for (let i = 0; i < 4; i += 1) await hold('eve', 10_000);
  const own = budget.share('net 1');
  await own.hold(10_000);
  expect(() => own.belongsTo('eve')).toThrow(expect.objectContaining({ status: 429 }));
  expect(own.bytes).toBe(10_000);
  own.release();
  const other = budget.share('net 1');
  await other.hold(10_000);
  other.belongsTo('zoe');
  for (let i = 0; i < 3; i += 1) await hold('zoe', 10_000);
  expect(await statusOf(hold('zoe', 1))).toBe(429);
  for (let i = 0; i < 8; i += 1) await hold('net 1', 8_000);
});

it('a large body counts as announced, unless it is slow', async () => {
  const { hold, share, clock } = open({ patience: 20 });
  await hold('ada', 20_000, 600_000);
  expect(await statusOf(hold('bob', 20_000, 400_001))).toBe(503);
  expect(await statusOf(hold('bob', 20_000, 400_000))).toBe(200);
  clock.now = 6_000;
  const late = share('eve', 600_000);
  expect(await statusOf(late.hold(20_000))).toBe(200);
});

it('a waiting body starts at the next second if the bodies before it are slow by then, or is refused after 30 s', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const { hold, share, clock } = open({ patience: byteLimits.patience });
  await hold('ada', 20_000, 600_000);
  const bob = share('bob', 500_000);
  const statuses: number[] = [];
  void statusOf(bob.hold(20_000)).then((status) => statuses.push(status));
  vi.advanceTimersByTime(999);
  clock.now = 6_000;
  await tick();
  expect(statuses).toEqual([]);
  vi.advanceTimersByTime(1);
  await tick();
  expect([statuses, bob.bytes]).toEqual([[200], 20_000]);
  bob.isReceived = true;
  void statusOf(hold('eve', 600_000, 990_000)).then((status) => statuses.push(status));
  await tick();
  vi.advanceTimersByTime(29_999);
  await tick();
  expect(statuses).toEqual([200]);
  vi.advanceTimersByTime(1);
  await tick();
  expect([statuses, vi.getTimerCount()]).toEqual([[200, 503], 0]);
});

it('bodies that wait start in the order of what their owners hold, the least first', async () => {
  const { hold, share } = open();
  const sizes = [300_000, 250_000, 200_000, 250_000];
  const held = [];
  for (const [i, name] of ['ada', 'bob', 'kim', 'kim'].entries()) held.push(await hold(name, sizes[i]!, sizes[i]));
  for (const one of held) one.isReceived = true;
  const started: string[] = [];
  for (const name of ['ada', 'zoe', 'bob'])
    void share(name, 200_000)
      .hold(20_000)
      .then(() => started.push(name));
  await tick();
  held[2]!.release();
  await tick();
  expect(started).toEqual(['zoe']);
  held[3]!.release();
  await tick();
  expect(started).toEqual(['zoe', 'bob']);
});

function openAnswers(answers: ByteLimits['answers']) {
  const { budget, clock } = open({ answers });
  const cut: string[] = [];
  const hold = (name: string, size: number): (() => void) => {
    const [caller, network] = name.startsWith('net') ? [null, name] : [name, null];
    return budget.holdAnswer(caller, network, size, () => cut.push(name));
  };
  return { clock, cut, hold, refusal: (name: string, size: number) => refusalOf(() => hold(name, size)) };
}

it('answers over 16 KiB count, in the part of the caller or of the network', async () => {
  const { clock, cut, hold, refusal } = openAnswers({ total: 90_000, perCaller: 60_000, perNetwork: 40_000 });
  for (let i = 0; i < 20; i += 1) hold('ada', 16_384);
  const both = [hold('ada', 30_000), hold('ada', 30_000)];
  expect(await refusal('ada', 16_385)).toMatchObject({ status: 429, limit: 'unsent_bytes', most: 60_000, after: '5' });
  for (const release of both) release();
  for (let i = 0; i < 2; i += 1) hold('net 1', 20_000);
  expect(await refusal('net 1', 16_385)).toMatchObject({ status: 503 });
  clock.now = 5_000;
  hold('net 1', 20_000);
  expect(cut).toEqual(['net 1']);
});

it('answers count for their owner, and the oldest one of the owner with the most bytes ends for others after 5 s', async () => {
  const { clock, cut, hold, refusal } = openAnswers(limits.answers);
  const sent = hold('ada', 3 * mebibyte);
  expect(await refusal('ada', 2 * mebibyte)).toMatchObject({ status: 429 });
  hold('eve', 3 * mebibyte);
  hold('joe', 2 * mebibyte);
  for (clock.now of [0, 4_999]) expect(await refusal('bob', 3 * mebibyte)).toMatchObject({ status: 503 });
  clock.now = 5_000;
  hold('bob', 3 * mebibyte);
  expect(cut).toEqual(['ada']);
  sent();
  hold('kim', 2 * mebibyte);
});

it('every sender gets an answer, memory is bounded, and all bytes are released', async () => {
  const sender = fc.record({
    pieces: fc.integer({ min: 1, max: 12 }),
    user: fc.constantFrom(null, 'ada', 'bob', 'cleo'),
    kind: fc.constantFrom('quick', 'quick', 'slow', 'gone'),
    announces: fc.boolean(),
    begins: fc.nat({ max: 20 }), // ticks
  });
  const property = fc.asyncProperty(fc.array(sender, { minLength: 1, maxLength: 30 }), async (senders) => {
    const budget = new ByteBudget({ ...limits, queue: 100 });
    let [held, most] = [0, 0];
    const calls = senders.map(async ({ pieces, user, kind, announces, begins }) => {
      for (let i = 0; i < begins; i++) await tick();
      const share = budget.share('net 1');
      if (user !== null) share.belongsTo(user);
      let came = 0;
      const chunks = (async function* () {
        for (let i = 0; i < pieces; i++) {
          if (kind === 'slow') await tick();
          if (kind === 'gone' && i === pieces - 1) throw new Error('lost');
          came += 50_000;
          held += 50_000;
          most = Math.max(most, held);
          yield Buffer.alloc(50_000);
        }
      })();
      const contentLength = announces ? String(pieces * 50_000) : null;
      const rules = { limit: 1e7, share, tokenField: null, isKnown: () => true, admit: async () => {} };
      const status = await statusOf(
        readBody({ chunks, contentLength, contentEncoding: null }, rules).then(() => share.slot()),
      );
      await tick();
      held -= came;
      share.release();
      return status;
    });
    for (const [i, status] of (await Promise.all(calls)).entries())
      expect(senders[i]!.kind === 'gone' ? [400, 429, 503] : [200, 429, 503]).toContain(status);
    const { large, strangers, small } = limits;
    expect(most).toBeLessThanOrEqual(large.total + strangers.total + small.total + senders.length * 60_000 + 600_000);
    const after = budget.share();
    after.belongsTo('new');
    await after.hold(1_000_000);
  });
  await fc.assert(property, { numRuns: 100 });
});
