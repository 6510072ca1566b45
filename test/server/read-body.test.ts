// The bytes of a body, and the room that bodies have in a process.
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BodyBudget, type BodyLimits, type BodyShare } from '../../src/server/body-budget.ts';
import { Problem } from '../../src/server/problem.ts';
import { type IncomingBody, readBody as read } from '../../src/server/read-body.ts';

const body = (chunks: Uint8Array[], headers: { length?: number; encoding?: string } = {}): IncomingBody => ({
  chunks: (async function* () {
    yield* chunks;
  })(),
  contentLength: headers.length === undefined ? null : String(headers.length),
  contentEncoding: headers.encoding ?? null,
});
const statusOf = (reading: Promise<unknown>): Promise<number> =>
  reading.then(
    () => 200,
    (error: unknown) => {
      if (error instanceof Problem) return error.status;
      throw error;
    },
  );
const limits: BodyLimits = {
  ...{ total: 100, perCaller: 60, strangers: 50, queue: 100, patience: 600_000 },
  small: { size: 10, room: 30 },
};
const big = () => new BodyBudget({ ...limits, total: 1e8, perCaller: 1e8 }).share();
const shareOf = (budget: BodyBudget, userId: string): BodyShare => {
  const share = budget.share();
  share.belongsTo(userId);
  return share;
};
const readBody = (incoming: IncomingBody, limit: number, share: BodyShare) =>
  read(incoming, { limit, share, tokenField: 'user', isKnown: () => share.owner !== null, admit: async () => {} });
const tick = () => new Promise((resolve) => setImmediate(resolve));

describe('bytes of a body', () => {
  const known = (): BodyShare => {
    const share = big();
    share.belongsTo('ada');
    return share;
  };

  it('chunks are put together, whatever length was announced', async () => {
    for (const headers of [{}, { length: 3 }, { length: 2 }, { length: 9 }]) {
      const bytes = await readBody(body([Buffer.from('ab'), Buffer.from('c')], headers), 10, known());
      expect(bytes.toString()).toBe('abc');
    }
  });

  it('gzip is decompressed, whatever the spelling', async () => {
    for (const encoding of ['gzip', 'GZIP', 'x-gzip', ' gzip ']) {
      const bytes = await readBody(body([gzipSync('{"a":1}')], { encoding }), 1000, known());
      expect(bytes.toString()).toBe('{"a":1}');
    }
  });

  it('another encoding is refused with 415, and the answer names the accepted ones', async () => {
    const reading = readBody(body([Buffer.from('x')], { encoding: 'br' }), 10, known());
    await expect(reading).rejects.toMatchObject({ status: 415, options: { headers: { 'Accept-Encoding': 'gzip' } } });
  });

  it('a large body without a token anywhere is refused with 403', async () => {
    const large = Buffer.from(`{"phone_to_server":["${'x'.repeat(200_000)}"]}`);
    expect(await statusOf(readBody(body([large]), 1e6, big()))).toBe(403);
  });

  it('broken gzip and broken connections are refused with 400', async () => {
    const broken = gzipSync('hello').subarray(0, 12);
    expect(await statusOf(readBody(body([broken], { encoding: 'gzip' }), 1000, known()))).toBe(400);
    expect(await statusOf(readBody(body([Buffer.from('no gzip')], { encoding: 'gzip' }), 1000, known()))).toBe(400);
    const cut = (async function* () {
      yield Buffer.from('a');
      throw new Error('aborted');
    })();
    for (const contentEncoding of [null, 'gzip']) {
      expect(await statusOf(readBody({ chunks: cut, contentLength: null, contentEncoding }, 1000, known()))).toBe(400);
    }
  });
});

describe('the room for bodies', () => {
  it('a large body waits for its room, and small ones have room beside large ones', async () => {
    const budget = new BodyBudget(limits);
    const first = shareOf(budget, 'ada');
    await readBody(body([Buffer.alloc(60)], { length: 60 }), 1000, first);
    const waiting = shareOf(budget, 'bob');
    const reading = readBody(body([Buffer.alloc(50)], { length: 50 }), 1000, waiting);
    for (const user of ['bob', 'eve', 'joe']) {
      await readBody(body([Buffer.alloc(10)], { length: 10 }), 1000, shareOf(budget, user));
    }
    expect(waiting.bytes).toBe(0);
    first.release();
    await expect(reading).resolves.toHaveLength(50);
  });

  it('a body that does not get room in time, or finds the queue full, is refused with 503', async () => {
    const budget = new BodyBudget({ ...limits, queue: 1, patience: 20 });
    await shareOf(budget, 'ada').hold(60);
    const waiting = statusOf(shareOf(budget, 'bob').hold(50));
    expect(await statusOf(shareOf(budget, 'eve').hold(50))).toBe(503);
    expect(await waiting).toBe(503);
  });

  it('the only body there is always fits', async () => {
    const only = shareOf(new BodyBudget(limits), 'ada');
    await expect(readBody(body([Buffer.alloc(160), Buffer.alloc(160)]), 1000, only)).resolves.toHaveLength(320);
  });

  it('a large body that grows without room is refused: it never waits for others that wait for it', async () => {
    const budget = new BodyBudget(limits);
    const [first, second] = [shareOf(budget, 'ada'), shareOf(budget, 'bob')];
    await first.hold(50);
    await second.hold(50);
    expect(await statusOf(first.hold(60))).toBe(503);
    first.release();
    await second.hold(60);
  });

  it('bodies in the queue count for the part of their caller', async () => {
    const budget = new BodyBudget(limits);
    for (const user of ['ada', 'bob']) await shareOf(budget, user).hold(50);
    const waiting = shareOf(budget, 'eve').hold(40);
    expect(await statusOf(shareOf(budget, 'eve').hold(30))).toBe(429);
    void waiting;
  });

  it('senders that are not authenticated share a part of their own, and their body counts for them afterwards', async () => {
    const budget = new BodyBudget(limits);
    for (const user of ['ada', 'bob']) await shareOf(budget, user).hold(50);
    const stranger = budget.share();
    await stranger.hold(40);
    expect(await statusOf(budget.share().hold(20))).toBe(503);
    stranger.belongsTo('eve');
    await budget.share().hold(20);
    expect(await statusOf(shareOf(budget, 'eve').hold(30))).toBe(429);
  });

  it('the oldest bodies that are still on their way make room, those of strangers soon, and no complete one', async () => {
    let now = 0;
    const budget = new BodyBudget(limits, () => now);
    const ended: string[] = [];
    const hold = async (name: string, user: string | null, bytes: number): Promise<BodyShare> => {
      const share = budget.share();
      if (user !== null) share.belongsTo(user);
      share.ended.catch(() => ended.push(name));
      await share.hold(bytes);
      return share;
    };
    await hold('first', null, 10);
    await hold('second', null, 10);
    (await hold('complete', 'joe', 10)).isReceived = true;
    expect(await statusOf(hold('early', null, 5))).toBe(503);
    now = 5_000;
    await hold('next', null, 5);
    await hold('slow', 'ada', 60);
    await hold('complete too', 'eve', 40).then((share) => {
      share.isReceived = true;
    });
    now = 40_000;
    await hold('bob', 'bob', 50);
    await tick();
    expect(ended).toEqual(['first', 'slow']);
  });

  it('large bodies are processed one at a time, in their order', async () => {
    const budget = new BodyBudget(limits);
    const order: number[] = [];
    const shares = [0, 1, 2].map((i) => {
      const share = budget.share();
      void share.turn().then(() => order.push(i));
      return share;
    });
    await tick();
    expect(order).toEqual([0]);
    shares[1]!.release(); // gone while it waited
    shares[0]!.release();
    await tick();
    expect(order).toEqual([0, 2]);
  });

  it('whoever sends what, everybody gets an answer, memory is bounded, and all room is given back', async () => {
    const sender = fc.record({
      pieces: fc.integer({ min: 1, max: 12 }),
      user: fc.constantFrom(null, 'ada', 'bob', 'cleo'),
      kind: fc.constantFrom('quick', 'quick', 'slow', 'gone'),
      announces: fc.boolean(),
      begins: fc.nat({ max: 20 }), // ticks
    });
    type Sender = { pieces: number; user: string | null; kind: string; announces: boolean; begins: number };
    const check = async (senders: Sender[]) => {
      const budget = new BodyBudget(limits);
      let [held, most] = [0, 0];
      const one = async ({ pieces, user, kind, announces, begins }: Sender): Promise<number> => {
        for (let i = 0; i < begins; i++) await tick();
        const share = user === null ? budget.share() : shareOf(budget, user);
        let came = 0;
        const chunks = (async function* () {
          for (let i = 0; i < pieces; i++) {
            if (kind === 'slow') await tick();
            if (kind === 'gone' && i === pieces - 1) throw new Error('lost');
            came += 5;
            held += 5;
            most = Math.max(most, held);
            yield Buffer.alloc(5);
          }
        })();
        const contentLength = announces ? String(pieces * 5) : null;
        const status = await statusOf(
          readBody({ chunks, contentLength, contentEncoding: null }, 1000, share).then(() => share.turn()),
        );
        await tick();
        held -= came;
        share.release();
        return status;
      };
      for (const [i, status] of (await Promise.all(senders.map(one))).entries()) {
        const { kind, announces, user, pieces } = senders[i]!;
        const isSmall = pieces * 5 <= limits.small.size; // small bodies wait for nothing: their room may be full
        const mayBeRefused = !announces || user === null || isSmall ? [429, 503] : [429];
        expect([kind === 'gone' ? 400 : 200, ...mayBeRefused]).toContain(status);
      }
      const { total, strangers, small } = limits;
      expect(most).toBeLessThanOrEqual(total + strangers + small.room + senders.length * (small.size + 5) + 60);
      await shareOf(budget, 'new').hold(1000);
    };
    await fc.assert(fc.asyncProperty(fc.array(sender, { minLength: 1, maxLength: 30 }), check), { numRuns: 100 });
  });
});
