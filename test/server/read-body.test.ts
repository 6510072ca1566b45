import { PassThrough } from 'node:stream';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BodyBudget, type BodyShare } from '../../src/server/body-budget.ts';
import { Problem } from '../../src/server/problem.ts';
import { type IncomingBody, readBody as read } from '../../src/server/read-body.ts';

const body = (chunks: Uint8Array[], headers: { length?: number; encoding?: string } = {}): IncomingBody => ({
  chunks: (async function* () {
    yield* chunks;
  })(),
  contentLength: headers.length === undefined ? null : String(headers.length),
  contentEncoding: headers.encoding ?? null,
});
const statusOf = async (reading: Promise<unknown>): Promise<number> => {
  const error = await reading.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (error instanceof Problem) return error.status;
  throw new Error(`expected a problem, found ${error}`);
};
/** A budget for callers who are known. */
const budgetOf = (total: number) => new BodyBudget({ total, perCaller: total, strangers: total });
const big = () => budgetOf(10_000_000);
const shareOf = (budget: BodyBudget, userId: string): BodyShare => {
  const share = budget.share();
  share.belongsTo(userId);
  return share;
};
const readBody = (incoming: IncomingBody, limit: number, share: BodyShare) =>
  read(incoming, { limit, share, tokenField: 'user', isKnown: () => true, admit: async () => {} });

describe('bytes of a body', () => {
  it('chunks are put together', async () => {
    const bytes = await readBody(body([Buffer.from('ab'), Buffer.from('c')]), 10, big().share());
    expect(bytes.toString()).toBe('abc');
  });

  it('gzip is decompressed, whatever the spelling', async () => {
    for (const encoding of ['gzip', 'GZIP', 'x-gzip', ' gzip ']) {
      const bytes = await readBody(body([gzipSync('{"a":1}')], { encoding }), 1000, big().share());
      expect(bytes.toString()).toBe('{"a":1}');
    }
  });

  it('another encoding is refused with 415, and the answer names the accepted ones', async () => {
    const reading = readBody(body([Buffer.from('x')], { encoding: 'br' }), 10, big().share());
    await expect(reading).rejects.toMatchObject({ status: 415, options: { headers: { 'Accept-Encoding': 'gzip' } } });
  });

  it('a body over the limit is refused with 413, by its declared or by its real length', async () => {
    expect(await statusOf(readBody(body([], { length: 11 }), 10, big().share()))).toBe(413);
    expect(await statusOf(readBody(body([Buffer.alloc(6), Buffer.alloc(5)]), 10, big().share()))).toBe(413);
    await expect(readBody(body([Buffer.alloc(10)]), 10, big().share())).resolves.toHaveLength(10);
  });

  it('a gzip bomb is refused at the limit, without being decompressed to its end', async () => {
    const bomb = gzipSync(Buffer.alloc(50_000_000));
    const budget = budgetOf(4_000_000);
    const share = budget.share();
    expect(await statusOf(readBody(body([bomb], { encoding: 'gzip' }), 1_000_000, share))).toBe(413);
  });

  it('broken gzip and broken connections are refused with 400', async () => {
    const broken = gzipSync('hello').subarray(0, 12);
    expect(await statusOf(readBody(body([broken], { encoding: 'gzip' }), 1000, big().share()))).toBe(400);
    expect(await statusOf(readBody(body([Buffer.from('no gzip')], { encoding: 'gzip' }), 1000, big().share()))).toBe(
      400,
    );
    const cut = (async function* () {
      yield Buffer.from('a');
      throw new Error('aborted');
    })();
    const reading = readBody({ chunks: cut, contentLength: null, contentEncoding: null }, 1000, big().share());
    expect(await statusOf(reading)).toBe(400);
  });
});

describe('the budget of all bodies', () => {
  it('a body that does not fit beside the bodies held is refused with 503, and fits after they are released', async () => {
    const budget = budgetOf(100);
    const first = budget.share();
    await readBody(body([Buffer.alloc(80)]), 1000, first);
    expect(await statusOf(readBody(body([], { length: 30 }), 1000, budget.share()))).toBe(503);
    const second = budget.share();
    expect(await statusOf(readBody(body([Buffer.alloc(15), Buffer.alloc(15)]), 1000, second))).toBe(503);
    second.release();
    first.release();
    await expect(readBody(body([Buffer.alloc(100)]), 1000, budget.share())).resolves.toHaveLength(100);
  });

  it('the decompressed size counts beside the compressed size', async () => {
    const budget = budgetOf(1000);
    budget.share().grow(1);
    const share = budget.share();
    expect(await statusOf(readBody(body([gzipSync(Buffer.alloc(990))], { encoding: 'gzip' }), 1000, share))).toBe(503);
    share.release();
    share.release();
    expect(() => budget.share().grow(999)).not.toThrow();
  });

  it('the only body there is always fits', async () => {
    const budget = budgetOf(10);
    const only = budget.share();
    await expect(readBody(body([Buffer.alloc(60), Buffer.alloc(60)]), 1000, only)).resolves.toHaveLength(120);
    expect(await statusOf(readBody(body([Buffer.alloc(1)]), 1000, budget.share()))).toBe(503);
  });

  it('a body that does not fit waits for its room, and a small one has room beside large ones', async () => {
    const small = { size: 10, room: 10 };
    const budget = new BodyBudget({ total: 100, perCaller: 100, strangers: 1000, patience: 60_000, small });
    const first = budget.share();
    await readBody(body([Buffer.alloc(90)], { length: 90 }), 1000, first);
    const waiting = readBody(body([Buffer.alloc(50)], { length: 50 }), 1000, budget.share());
    await expect(readBody(body([Buffer.alloc(10)], { length: 10 }), 1000, budget.share())).resolves.toHaveLength(10);
    await expect(readBody(body([Buffer.alloc(10)], { length: 10 }), 1000, budget.share())).resolves.toHaveLength(10);
    first.release();
    await expect(waiting).resolves.toHaveLength(50);
  });

  it('what has the room of its whole body comes to its end, and makes room when it hardly comes', async () => {
    let now = 0;
    const budget = new BodyBudget({ total: 100, perCaller: 100, strangers: 100, patience: 60_000 }, () => now);
    const slow = budget.share();
    slow.belongsTo('eve');
    await slow.reserve(80);
    const other = budget.share();
    other.belongsTo('ada');
    const reserving = other.reserve(50);
    for (let i = 0; i < 80; i++) slow.grow(1);
    slow.release();
    await reserving;
    const third = budget.share();
    third.belongsTo('bob');
    const late = third.reserve(70);
    now = 30_000;
    await expect(other.evicted).rejects.toMatchObject({ status: 503 });
    await late;
  });

  it('of strangers who send nothing any more, the one who came first makes room', async () => {
    let now = 0;
    const budget = new BodyBudget({ total: 1000, perCaller: 1000, strangers: 50 }, () => now);
    const gone = budget.share();
    const ended: string[] = [];
    gone.grow(1);
    for (const name of ['first', 'second', 'third']) {
      const share = budget.share();
      share.evicted.catch(() => ended.push(name));
      share.grow(10);
    }
    gone.release(); // who leaves must not change the order of the others
    now = 60_000;
    budget.share().grow(25);
    await new Promise((resolve) => setImmediate(resolve));
    expect(ended).toEqual(['first']);
  });

  it('large bodies take turns, and no caller gets all turns', async () => {
    const budget = new BodyBudget({ total: 100, perCaller: 100, strangers: 100, turns: 1 });
    const order: string[] = [];
    const shares = ['eve', 'eve', 'eve', 'ada'].map((userId) => {
      const share = budget.share();
      share.belongsTo(userId);
      const turn = share.turn().then(() => order.push(userId));
      return { share, turn };
    });
    for (const i of [0, 3, 1, 2]) {
      await shares[i]!.turn;
      shares[i]!.share.release();
    }
    expect(order).toEqual(['eve', 'ada', 'eve', 'eve']);
  });

  it('beside a caller who holds the own part for ever, everybody gets an answer, and memory is bounded', async () => {
    const piece = 10;
    const limits = { total: 200, perCaller: 100, strangers: 100, small: { size: 20, room: 40 }, turns: 2, ahead: 50 };
    const budgets = { ...limits, peek: 160, patience: 600_000 };
    const sender = fc.record({
      pieces: fc.integer({ min: 1, max: 10 }),
      user: fc.constantFrom('ada', 'bob', 'cleo', 'holder'),
      kind: fc.constantFrom('quick', 'quick', 'slow', 'gone', 'gone after the end'),
      begins: fc.nat({ max: 20 }), // ticks
    });
    const tick = () => new Promise((resolve) => setImmediate(resolve));
    const check = async (senders: { pieces: number; user: string; kind: string; begins: number }[]) => {
      const budget = new BodyBudget(budgets);
      const holder = shareOf(budget, 'holder');
      await holder.reserve(limits.perCaller);
      let [held, most] = [0, 0];
      const statuses = senders.map(async ({ pieces: some, user, kind, begins }) => {
        // Of those who disappear, some have announced more than fits beside the holder.
        const pieces = kind.startsWith('gone') ? some + 5 : some;
        for (let i = 0; i < begins; i++) await tick();
        const share = shareOf(budget, user);
        const connection = new PassThrough();
        let came = 0;
        const chunks = (async function* () {
          for (let i = 0; i < pieces; i++) {
            if (kind === 'slow') await tick();
            if (kind === 'gone' && i === pieces - 1) throw new Error('lost');
            came += piece;
            held += piece;
            most = Math.max(most, held);
            yield Buffer.alloc(piece);
          }
          if (kind === 'gone after the end') connection.destroy();
        })();
        const incoming = { chunks, contentLength: String(pieces * piece), contentEncoding: null, connection };
        try {
          await readBody(incoming, 1000, share);
          await share.turn();
          await tick();
          return 200;
        } catch (error) {
          if (!(error instanceof Problem)) throw error;
          return error.status;
        } finally {
          held -= came;
          share.release();
        }
      });
      for (const [i, status] of (await Promise.all(statuses)).entries()) {
        const { user, kind } = senders[i]!;
        const isAlone = senders.every((other) => other === senders[i] || other.user !== user);
        const good = kind === 'gone' ? [400] : kind === 'gone after the end' ? [200, 400] : [200];
        // Small bodies of the holder are over the part, too.
        if (user === 'holder') expect(status).toBe(429);
        else expect(isAlone ? good : [...good, 429], `${user} ${kind}`).toContain(status);
      }
      expect(most).toBeLessThanOrEqual(limits.total + limits.small.room + budgets.peek + senders.length * piece);
      expect(() => shareOf(budget, 'new').check(limits.total - limits.perCaller)).not.toThrow();
    };
    await fc.assert(fc.asyncProperty(fc.array(sender, { minLength: 1, maxLength: 30 }), check), { numRuns: 100 });
  });

  it('what has come waits in bounded memory; who sends slowly, or no more, or is gone holds up nobody', async () => {
    const piece = 10;
    const ahead = 50;
    const turns = 2;
    const sender = fc.record({
      pieces: fc.integer({ min: 2, max: 12 }),
      user: fc.constantFrom('ada', 'eve', 'bob'),
      kind: fc.constantFrom('quick', 'quick', 'quick', 'slow', 'silent', 'gone'),
      known: fc.boolean(), // whether it says how much comes
    });
    const tick = () => new Promise((resolve) => setImmediate(resolve));
    const check = async (senders: { pieces: number; user: string; kind: string; known: boolean }[]) => {
      const limits = { total: 1e6, perCaller: 1e6, strangers: 1e6, small: { size: 0, room: 0 }, turns, ahead };
      const budget = new BodyBudget(limits);
      let [held, most, atWork] = [0, 0, 0];
      const end = new Promise<never>((_, reject) => void over.then(() => reject(new Error('lost'))));
      end.catch(() => {});
      const results = senders.map(async ({ pieces, user, kind, known }) => {
        const share = budget.share();
        share.belongsTo(user);
        let came = 0;
        const chunks = (async function* () {
          for (let i = 0; i < pieces; i++) {
            if (kind === 'slow') await tick();
            if (kind === 'gone' && i === pieces - 1) throw new Error('lost');
            if (kind === 'silent' && i === pieces - 1) await end;
            came += piece;
            held += piece;
            most = Math.max(most, held);
            yield Buffer.alloc(piece);
          }
        })();
        try {
          const incoming = { chunks, contentLength: known ? String(pieces * piece) : null, contentEncoding: null };
          await readBody(incoming, 1000, share);
          await share.turn();
          atWork += 1;
          expect(atWork).toBeLessThanOrEqual(turns);
          for (let i = 0; i < 3; i++) await tick();
          atWork -= 1;
          return 'answered';
        } catch (error) {
          if (!(error instanceof Problem)) throw error;
          return 'refused';
        } finally {
          held -= came;
          share.release();
        }
      });
      const isQuick = ({ kind }: { kind: string }): boolean => kind === 'quick' || kind === 'slow';
      const answers = await Promise.all(results.filter((_, i) => isQuick(senders[i]!)));
      expect(answers.every((answer) => answer === 'answered')).toBe(true);
      letGo();
      for (const [i, result] of results.entries()) {
        expect(await result).toBe(isQuick(senders[i]!) ? 'answered' : 'refused');
      }
      // Beside what may come ahead: bodies at work, one that waits for its turn, and a last piece of each slow sender.
      const slow = senders.filter(({ kind }) => kind !== 'quick').length;
      expect(most).toBeLessThanOrEqual(ahead + (turns + 1) * 12 * piece + (slow + senders.length) * piece);
    };
    let letGo: () => void = () => {};
    let over = Promise.resolve();
    await fc.assert(
      fc.asyncProperty(fc.array(sender, { minLength: 1, maxLength: 30 }), async (senders) => {
        over = new Promise((resolve) => {
          letGo = resolve;
        });
        await check(senders);
      }),
      { numRuns: 40 },
    );
  });

  it('callers whose own bodies fill their part get 429 at once, and others do not wait for that', async () => {
    const budget = new BodyBudget({ total: 100, perCaller: 50, strangers: 50, patience: 600_000 });
    const slow = shareOf(budget, 'ada');
    await slow.reserve(40);
    const second = shareOf(budget, 'ada').reserve(20);
    const fits = shareOf(budget, 'bob').reserve(50);
    await expect(second).rejects.toMatchObject({ status: 429, options: { members: { limit: 'waiting_bytes' } } });
    await fits;
    slow.release();
    await shareOf(budget, 'ada').reserve(50);
  });

  it('callers get the room of their own body that hardly comes any more', async () => {
    let now = 0;
    const budget = new BodyBudget({ total: 100, perCaller: 50, strangers: 50, patience: 600_000 }, () => now);
    const lost = shareOf(budget, 'ada');
    await lost.reserve(40);
    now = 30_000;
    await shareOf(budget, 'ada').reserve(20);
    await expect(lost.evicted).rejects.toMatchObject({ status: 503 });
  });

  it('a body that waited long for its room has time to come', async () => {
    let now = 0;
    const budget = new BodyBudget({ total: 100, perCaller: 100, strangers: 50, patience: 600_000 }, () => now);
    const first = shareOf(budget, 'ada');
    for (let i = 0; i < 80; i++) first.grow(1);
    const second = shareOf(budget, 'bob');
    const reserving = second.reserve(80);
    const third = shareOf(budget, 'eve');
    const waiting = third.reserve(80);
    now = 100_000;
    first.release();
    await reserving;
    let isEvicted = false;
    second.evicted.catch(() => {
      isEvicted = true;
    });
    shareOf(budget, 'joe').release(); // all that wait look again
    await new Promise((resolve) => setImmediate(resolve));
    expect(isEvicted).toBe(false);
    second.release();
    await waiting;
  });

  it('nobody waits for a stranger who waits for the part of strangers', async () => {
    const budget = new BodyBudget({ total: 100, perCaller: 100, strangers: 40, patience: 600_000 });
    const quick = budget.share();
    quick.grow(30);
    const stranger = budget.share().arrive(30);
    await shareOf(budget, 'bob').reserve(20);
    quick.release();
    await stranger;
  });

  it('a body that is evicted waits no more, and the others do not wait for it', async () => {
    let now = 0;
    const small = { size: 10, room: 0 };
    const budget = new BodyBudget({ total: 100, perCaller: 100, strangers: 40, patience: 600_000, small }, () => now);
    shareOf(budget, 'ada').grow(68);
    const slow = budget.share();
    slow.grow(10);
    const refused = expect(slow.arrive(25)).rejects.toMatchObject({ status: 503 });
    const behind = shareOf(budget, 'bob').reserve(15);
    now = 60_000;
    const quick = budget.share();
    quick.grow(31); // strangers have no room for both
    await refused;
    quick.release();
    await behind;
  });

  it('who has a body at work is read after those who have none, and others in the order in which they came', async () => {
    const limits = { total: 1e6, perCaller: 1e6, strangers: 1e6, small: { size: 0, room: 0 }, turns: 1, ahead: 10 };
    const budget = new BodyBudget(limits);
    const shareOf = (userId: string): BodyShare => {
      const share = budget.share();
      share.belongsTo(userId);
      share.grow(10);
      return share;
    };
    const first = shareOf('eve');
    await first.turn();
    const waiting = shareOf('eve');
    const begun = waiting.turn(); // a whole body waits: nobody is read meanwhile
    const order: string[] = [];
    const reading = ['eve', 'eve', 'ada', 'bob'].map(async (userId, i) => {
      const share = shareOf(userId);
      await share.readOn();
      order.push(`${userId} ${i}`);
      share.release();
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(order).toEqual([]);
    first.release();
    await begun;
    await Promise.all(reading);
    expect(order).toEqual(['ada 2', 'bob 3', 'eve 0', 'eve 1']);
    waiting.release();
  });
});
