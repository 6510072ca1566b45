// From lines to calls, and where a put failed.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CallTracker, callOutcome, callTime, type LoggedCall, missingStep, putSteps } from '../../src/log/calls.ts';
import { line } from '../../src/log/messages.ts';
import type { LogLine } from '../../src/log/read-log.ts';

const user = '6f1c0a52-0f4e-4d0e-9a57-6f3b6f0d9a11';
const noon = 1_795_249_800;

function logLine(thread: string, message: string, changes: Partial<LogLine> = {}): LogLine {
  return { time: noon, level: 'INFO', thread, message, source: 'server', ...changes };
}

/** The lines of a whole put. */
function putLines(thread: string, from = noon): LogLine[] {
  return [
    line.startCall('POST', '/usercache/put'),
    line.called('userCache.put'),
    line.foundEmail('ada@example.org'),
    line.userUuid(user),
    line.entryStored(user, 'background/location', 1_463_477_402.120934, 'inserted'),
    line.entryStored(user, 'background/location', 1_463_477_401.5, 'updated'),
    line.entryRejected(user, null, null, 'no_metadata'),
    line.putStored(user, { inserted: 1, updated: 1, rejected: 1 }),
    line.answered(200, 'POST', '/usercache/put'),
    line.endCall('POST', '/usercache/put', user, 0.5),
  ].map((message, i) => logLine(thread, message, { time: from + i / 16 }));
}

/** What a tracker makes of lines: the calls that are done, and those that are open. */
function track(lines: LogLine[]): { done: LoggedCall[]; open: LoggedCall[] } {
  const tracker = new CallTracker();
  const done = lines.flatMap((one) => tracker.add(one).done);
  return { done, open: tracker.open() };
}

describe('a call', () => {
  it('contains the fields of its lines, from START to END', () => {
    const { done, open } = track(putLines('w1-1'));
    expect(open).toEqual([]);
    expect(done).toEqual([
      {
        source: 'server',
        thread: 'w1-1',
        method: 'POST',
        path: '/usercache/put',
        handler: 'userCache.put',
        seen_ts: noon,
        start_ts: noon,
        end_ts: noon + 9 / 16,
        seconds: 0.5,
        status: 200,
        code: null,
        user_id: user,
        user_email: 'ada@example.org',
        entries: 3,
        stored: { inserted: 1, updated: 1, rejected: 1 },
        notes: [],
      },
    ]);
    expect(callOutcome(done[0]!)).toBe('ok');
  });

  it('is separated from calls that overlap it in the same and in other workers and servers', () => {
    const thread = fc.tuple(fc.constantFrom('server', 'server-2'), fc.integer({ min: 1, max: 9 }));
    const threads = fc.uniqueArray(thread, { minLength: 1, maxLength: 6, selector: String });
    fc.assert(
      fc.property(threads, fc.infiniteStream(fc.nat({ max: 5 })), (ids, turns) => {
        const queues = ids.map(([source, n]) => putLines(`w1-${n}`).map((one) => ({ ...one, source })));
        const mixed: LogLine[] = [];
        for (const turn of turns) {
          const waiting = queues.filter((queue) => queue.length > 0);
          if (waiting.length === 0) break;
          mixed.push(waiting[turn % waiting.length]!.shift()!);
        }
        const { done, open } = track(mixed);
        expect(open).toEqual([]);
        const found = done.map(({ source, thread }) => `${source} ${thread}`);
        expect(found.sort()).toEqual(ids.map(([source, n]) => `${source} w1-${n}`).sort());
        for (const call of done) expect(callOutcome(call)).toBe('ok');
      }),
    );
  });

  it('is unfinished without END: at the end of the lines, and when its thread id is used again', () => {
    const [start, called] = putLines('w1-1');
    const { done, open } = track([start!, called!, ...putLines('w1-1', noon + 100), start!]);
    expect(done.map(callOutcome)).toEqual(['unfinished', 'ok']);
    expect(open.map(callOutcome)).toEqual(['unfinished']);
  });

  it('is known by its END if its START is before the lines that were read', () => {
    const { done } = track(putLines('w1-1').slice(-1));
    expect(done[0]).toMatchObject({ start_ts: null, method: 'POST', path: '/usercache/put', user_id: user });
    expect(callTime(done[0]!)).toBe(noon + 9 / 16 - 0.5);
    expect(callOutcome(done[0]!)).toBe('ok');
  });

  it('has failed if it was refused, with the reason, also if only warnings are kept', () => {
    const answered = line.answered(403, 'POST', '/usercache/get:', 'MOBILITY_FORBIDDEN', 'expected: a token');
    const { done } = track([
      logLine('w1-1', line.startCall('POST', '/usercache/get')),
      logLine('w1-1', answered),
      logLine('w1-1', line.endCall('POST', '/usercache/get', null, 0.01)),
    ]);
    expect(done[0]).toMatchObject({ status: 403, code: 'MOBILITY_FORBIDDEN', notes: ['expected: a token'] });
    const { open } = track([logLine('w1-1', line.answered(500, 'POST', '/x', 'EXCEPTION'), { level: 'ERROR' })]);
    expect([...done, ...open].map(callOutcome)).toEqual(['failed', 'failed']);
  });

  it('does not begin with a line of the pipeline or of the server itself', () => {
    const { done, open } = track([
      ...putLines('p1').map((one) => ({ ...one, source: 'pipeline' })),
      logLine('main', line.serverStarted(2, 'x')),
      logLine('main', 'worker 1 ended', { level: 'ERROR' }),
      logLine('main', line.serverStopped()),
    ]);
    expect([done, open]).toEqual([[], []]);
  });
});

it('the memory is bounded if no call ends, and of one call for any number of warnings', () => {
  const tracker = new CallTracker();
  const starts = Array.from({ length: 12_000 }, (_, n) => logLine(`w1-${n}`, line.startCall('GET', '/x')));
  expect(starts.flatMap((one) => tracker.add(one).done)).toHaveLength(2000);
  expect(tracker.open()).toHaveLength(10_000);
  const notes = Array.from({ length: 100 }, (_, n) => logLine('w1-1', `note ${n}`, { level: 'WARNING' }));
  expect(track([starts[1]!, ...notes]).open[0]!.notes).toHaveLength(5);
});

describe('a put', () => {
  const known = putLines('w1-1');
  const step: Record<string, LogLine[]> = {
    START: [known[0]!],
    'handler called': [known[1]!],
    'user name found': [known[2]!],
    'user UUID found': [known[3]!],
    'entries stored': known.slice(4, 8),
    END: [known[9]!],
  };

  const names = Object.keys(step);

  it('without one of its steps, or cut off before it, has failed at it', () => {
    for (const [i, name] of names.entries()) {
      const { open } = track(names.slice(0, i).flatMap((before) => step[before]!));
      expect(open.map(missingStep)).toEqual(i === 0 ? [] : [name]);
    }
    for (const missing of ['handler called', 'user name found', 'entries stored']) {
      const { done } = track(names.filter((name) => name !== missing).flatMap((name) => step[name]!));
      expect([missingStep(done[0]!), callOutcome(done[0]!)]).toEqual([missing, 'failed']);
    }
    expect(missingStep(track(known).done[0]!)).toBeNull();
  });

  it('without logged entries has stored them if the summary line is there', () => {
    const { done } = track(known.filter(({ message }) => !message.startsWith('Updated result')));
    expect(putSteps(done[0]!)).toContainEqual({ step: 'entries stored', found: true });
    expect(callOutcome(done[0]!)).toBe('ok');
  });

  it('has stored its entries and failed at END if it was killed while they were logged', () => {
    const [call] = track(known.slice(0, 5)).open;
    expect([missingStep(call!), call!.entries]).toEqual(['END', 1]);
  });

  it('does not count as failed if only its START is before the lines that were read', () => {
    expect(callOutcome(track(known.slice(1)).done[0]!)).toBe('ok');
  });
});
