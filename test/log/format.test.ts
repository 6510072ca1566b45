// The two halves of the log formats, writer and parser, tested against each other.
import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { consoleLine, createStamp, fileLine, hostZone, parseFileLine } from '../../src/log/line-format.ts';
import { line, type Message, parseMessage } from '../../src/log/messages.ts';
import { createLineLog } from '../../src/log/queue.ts';
import { oneLine, quoted, word } from '../../src/log/text.ts';
import { cpuSeconds } from '../support/cpu.ts';

const user = '6f1c0a52-0f4e-4d0e-9a57-6f3b6f0d9a11';
const stamp = createStamp('Europe/Berlin');
const at = 1_795_249_862.12; // 2026-11-21T09:31:02.120+01:00

const pieces = [
  ...String.raw`, |"|\|: | = |= inserted|-> |[|]|(|)|null|key|write_ts`.split('|'),
  ...['\n', '\r\n', ' '],
  ...[' while saving entry key = a, write_ts = 1 -> b', '], valid_key_list = [', '**********', 'END POST /x 0.1'],
  ...['2026-11-21T09:31:02.120+01:00:INFO:w1:x', '\u2028', '\u001b[2J', '\u202e', '\ud800', '😀'],
];

/** Texts of every kind, controls and halves of pairs too, and pieces of our own formats. */
const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.string({ unit: 'binary-ascii', maxLength: 60 }),
  fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 20 }).map((codes) => String.fromCharCode(...codes)),
  fc.array(fc.constantFrom(...pieces), { maxLength: 8 }).map((parts) => parts.join('')),
);
const anyTime = fc.double({ min: 0, max: 8_000_000_000, noNaN: true });
const anyNumber = fc.double({ noNaN: true, noDefaultInfinity: true }).map((x) => (Object.is(x, -0) ? 0 : x));
const anyDuration = fc.double({ min: 0, max: 1e6, noNaN: true });
const zones = fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kathmandu', 'Australia/Lord_Howe');

const readBack = (message: string): Message | null => {
  const parsed = parseFileLine(fileLine(stamp(at), 'INFO', 'w1', message));
  expect(parsed).not.toBeNull();
  return parseMessage(parsed!.message);
};

it.each([
  ['', 'UTC'],
  [':/etc/localtime', expect.any(String)],
  ['GMT+3', 'UTC'],
  ['Nowhere/Town', 'UTC'],
  ['Asia/Kathmandu', expect.stringMatching(/^Asia\/Kat/)],
])('a host whose TZ is "%s" has a time zone with a name', (TZ, zone) => {
  vi.stubEnv('TZ', TZ);
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(hostZone()).toEqual(zone);
  expect(() => createStamp(hostZone())(at)).not.toThrow();
});

describe('the timestamp', () => {
  it('is ISO 8601 with milliseconds and the offset of the zone, one word', () => {
    expect(stamp(at)).toBe('2026-11-21T09:31:02.120+01:00');
    expect(createStamp('UTC')(at)).toBe('2026-11-21T08:31:02.120+00:00');
    expect(createStamp('America/St_Johns')(at)).toBe('2026-11-21T05:01:02.120-03:30');
    expect(stamp(1_795_249_862)).toBe('2026-11-21T09:31:02.000+01:00');
    expect(stamp(1_795_249_861.9999)).toBe('2026-11-21T09:31:01.999+01:00');
  });

  it('is read back as the time in milliseconds, in every zone and in any order of times', () => {
    fc.assert(
      fc.property(zones, fc.array(fc.integer({ min: 0, max: 4_000_000_000_000 })), (zone, times) => {
        const write = createStamp(zone);
        const readTime = (text: string) => parseFileLine(fileLine(text, 'INFO', 'w1', ''))!.time;
        for (const ms of times) expect(Math.round(readTime(write(ms / 1000)) * 1000)).toBe(ms);
      }),
    );
  });

  it('follows the offset over a change of the clock', () => {
    const before = Date.UTC(2026, 9, 25, 0, 59, 59) / 1000;
    expect(stamp(before)).toBe('2026-10-25T02:59:59.000+02:00');
    expect(stamp(before + 1)).toBe('2026-10-25T02:00:00.000+01:00');
  });
});

describe('a line of the file', () => {
  it('is timestamp, level, thread id and message, separated by colons', () => {
    const written = '2026-11-21T09:31:02.120+01:00:DEBUG:w1-42:a:b: c';
    expect(fileLine(stamp(at), 'DEBUG', 'w1-42', 'a:b: c')).toBe(written);
    expect(parseFileLine(written)).toEqual({ time: at, level: 'DEBUG', thread: 'w1-42', message: 'a:b: c' });
  });

  it('is one line for any message, and is read back as that message', () => {
    fc.assert(
      fc.property(anyText, anyTime, zones, fc.stringMatching(/^[\w.-]+$/), (message, ts, zone, thread) => {
        const written = fileLine(createStamp(zone)(ts), 'ERROR', thread, message);
        expect(written).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\p{Bidi_Control}]/u);
        const parsed = parseFileLine(written)!;
        expect(parsed.message).toBe(oneLine(message));
        expect(parsed.thread).toBe(thread);
        expect(Math.abs(parsed.time - ts)).toBeLessThan(0.002);
      }),
    );
  });

  it('keeps a message without control characters as it is, and changes nothing a second time', () => {
    const plain = fc.string({ unit: 'grapheme', maxLength: 80 });
    fc.assert(
      fc.property(plain, anyText, (message, other) => {
        if (!/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u.test(message)) expect(oneLine(message)).toBe(message);
        expect(oneLine(oneLine(other))).toBe(oneLine(other));
      }),
    );
  });

  it('turns line breaks into blanks and shows other control characters', () => {
    expect(oneLine('a\r\nb\nc\td\u2028e')).toBe('a b c d e');
    expect(oneLine('\u001b[2J\u0000\u202ex')).toBe('\\u001b[2J\\u0000\\u202ex');
  });

  it('is the same whether it is written alone or with others', () => {
    fc.assert(
      fc.property(fc.array(anyText, { maxLength: 5 }), (messages) => {
        const lines: string[] = [];
        const emit = (some: { text(): string }) => lines.push(some.text());
        const log = createLineLog({ level: 'debug', threadId: 'w1', zone: 'Europe/Berlin', now: () => at, emit });
        log.writeAll('DEBUG', messages);
        for (const message of messages) log.write('DEBUG', message);
        const alone = messages.map((message) => fileLine(stamp(at), 'DEBUG', 'w1', message));
        expect(lines.join('\n')).toBe([...alone, ...alone].join('\n'));
      }),
    );
  });

  it('has a maximum length', () => {
    expect(fileLine(stamp(at), 'INFO', 'w1', '\u0000'.repeat(100_000)).length).toBeLessThan(16_100);
    expect(quoted('"'.repeat(100_000)).length).toBeLessThan(700);
  });

  it('is not recognised if another program wrote it', () => {
    const others = ['2026-11-21 09:31:02,120:DEBUG:140:START POST /x', '2026-11-21T09:31:02.120+01:00:TRACE:w1:x'];
    for (const text of ['', 'x', ...others]) expect(parseFileLine(text)).toBeNull();
  });
});

describe('a line of the console', () => {
  it('has the fields of the specification, separated by single blanks', () => {
    const start = consoleLine(stamp(at), line.startCall('POST', '/usercache/put'));
    expect(start).toBe('START 2026-11-21T09:31:02.120+01:00 POST /usercache/put');
    const end = consoleLine(stamp(at), line.endCall('POST', '/usercache/put', user, 0.75));
    expect(end).toBe(`END 2026-11-21T09:31:02.120+01:00 POST /usercache/put ${user} 0.750000`);
  });

  it('has the same number of words for any method, path and user', () => {
    fc.assert(
      fc.property(anyText, anyText, anyText, anyDuration, (method, path, who, seconds) => {
        expect(consoleLine(stamp(at), line.startCall(method, path)).split(' ')).toHaveLength(4);
        const end = consoleLine(stamp(at), line.endCall(method, path, who, seconds)).split(' ');
        expect(end.slice(0, 5)).toEqual(['END', stamp(at), word(method), end[3], word(who)]);
        expect(end).toHaveLength(6);
        expect(consoleLine(stamp(at), line.endCall(method, path, null, seconds)).split(' ')).toHaveLength(5);
      }),
    );
  });
});

describe('the texts that operators look for', () => {
  const about = `UUID ${user}: `;
  const put = 'POST /usercache/put';
  const ts = 1463477402.120934;
  const result = `Updated result for user = ${user}, key = `;
  it.each([
    [line.startCall('POST', '/usercache/put'), `START ${put}`],
    [line.called('timeline.getTrips/2016-05-17'), 'Called timeline.getTrips/2016-05-17'],
    [line.foundEmail('ada@example.org'), 'Found user email ada@example.org'],
    [line.userUuid(user), `user_uuid ${user}`],
    [line.refusedToken('1f6c02ab', 'not known', 'sent as', 'ada'), 'Refused token 1f6c02ab, not known, sent as ada'],
    [line.entryStored(user, 'a/b', ts, 'inserted'), `${result}a/b, write_ts = 1463477402.120934 = inserted`],
    [line.entryRejected(user, null, null, 'no-metadata'), `${result}null, write_ts = null = rejected (no-metadata)`],
    [
      line.putStored(user, { inserted: 2, updated: 1, rejected: 0 }),
      `Stored entries of user = ${user}, inserted = 2, updated = 1, rejected = 0`,
    ],
    [line.answered(200, 'POST', '/usercache/put'), `Answered 200 ${put}`],
    [line.answered(403, 'POST', '/usercache/put', 'MOBILITY_FORBIDDEN'), `Answered 403 ${put} MOBILITY_FORBIDDEN`],
    [line.endCall('POST', '/usercache/put', user, 0.75), `END ${put} ${user} 0.750000`],
    [line.endCall('POST', '/profile/create', null, 0.03), 'END POST /profile/create 0.030000'],
    [line.stage(user, 'documents'), `**********${about}documents**********`],
    [
      line.stageFinished(user, 'documents', { moved: 2, set_aside: 1 }, 0.25),
      `${about}finished documents in 0.250000 s: moved = 2, set_aside = 1`,
    ],
    [line.stageFinished(user, 'documents', {}, 0.25), `${about}finished documents in 0.250000 s: nothing to do`],
    [line.pipelineFailed(user, 'the store is gone'), `${about}pipeline failed: the store is gone`],
    [line.aboutUser(user, 'something else'), `${about}something else`],
    [line.binned(user, 8, 3), `${about}After binning, we have 8 bins, of which 3 are empty`],
    [line.addingTrips(user, 2, '2016-05-17'), `${about}Adding 2 trips for day 2016-05-17`],
    [line.documentUpdated(user, 'a/b', 'updated'), `${about}Result = updated after updating document a/b`],
    [line.keyLists(user, ['a'], ['b/c']), `${about}curr_key_list = ["a"], valid_key_list = ["b/c"]`],
    [line.obsoleteKeys(user, ['a']), `${about}obsolete keys are: ["a"]`],
    [line.documentRemoved(user, 'a', 'removed'), `${about}Result of removing document with key a is removed`],
    [
      line.entryFailed(user, 'no ts', 'manual/survey', 1.5, 'missing-ts'),
      `${about}Got error no ts while saving entry key = manual/survey, write_ts = 1.5 -> missing-ts`,
    ],
    [line.insertingError(user, 'a/b', 1.5), `${about}Inserting entry key = a/b, write_ts = 1.5 into error timeseries`],
  ])('%s', (written, kept) => {
    expect(written).toBe(kept);
  });

  it('leave out the query of a path', () => {
    expect(line.startCall('GET', '/x?token=secret')).toBe('START GET /x');
  });
});

describe('a message read back', () => {
  it('of a put is read back as written, for any key of the phone and any user name', () => {
    fc.assert(
      fc.property(anyText, anyText, anyNumber, anyText, (email, key, write_ts, reason) => {
        const user_email = oneLine(`Found user email ${email}`).slice(17);
        expect(readBack(line.foundEmail(email))).toEqual({ kind: 'foundEmail', user_email });
        for (const message of [
          line.entryStored(user, key, write_ts, 'inserted'),
          line.entryStored(user, key, write_ts, 'updated'),
          line.entryRejected(user, key, write_ts, reason),
          line.entryRejected(user, null, null, reason),
        ])
          expect(readBack(message)).toEqual({ kind: 'entryStored' });
      }),
    );
    const counts = { inserted: 2, updated: 1, rejected: 3 };
    expect(readBack(line.putStored(user, counts))).toEqual({ kind: 'putStored', ...counts });
  });

  it('of a call is read back as written', () => {
    const codes = fc.option(fc.constantFrom('MOBILITY_FORBIDDEN', 'EXCEPTION'));
    const reasons = fc.option(fc.constantFrom('expected POST, found GET', 'no: such thing'));
    const statuses = fc.integer({ min: 100, max: 599 });
    fc.assert(
      fc.property(anyText, anyText, codes, reasons, statuses, anyDuration, (method, path, code, reason, status, s) => {
        const start = readBack(line.startCall(method, path));
        expect(start).toMatchObject({ kind: 'startCall', method: word(method) });
        const known = { method: word(method), path: (start as { path: string }).path };
        const answer = { kind: 'answered', status, ...known, ...(code && { code }), ...(reason && { reason }) };
        expect(readBack(line.answered(status, method, path, code, reason))).toEqual(answer);
        const end = { kind: 'endCall', ...known, seconds: Number(s.toFixed(6)) };
        expect(readBack(line.endCall(method, path, null, s))).toEqual(end);
        expect(readBack(line.endCall(method, path, user, s))).toMatchObject({ ...known, user_id: user });
      }),
    );
    expect(readBack(line.called('userCache.put'))).toEqual({ kind: 'called', handler: 'userCache.put' });
    expect(readBack(line.userUuid(user))).toEqual({ kind: 'userUuid', user_id: user });
  });

  it('is null for an unknown text, and no text makes the parser fail', () => {
    for (const text of ['something else', line.serverStarted(2, 'x')]) expect(parseMessage(text)).toBeNull();
    fc.assert(fc.property(anyText, (text) => void parseMessage(text)));
  });

  it('takes time in proportion to its length', () => {
    const long = 8_000;
    const lines = [
      `Updated result for user = x, key = "${'\\"'.repeat(long / 2)}`,
      `Updated result for user = x, key = ${'a'.repeat(long)}, write_ts = 1 = inserted (${'('.repeat(long)}`,
      `END ${'1.1 '.repeat(long / 4)}x`,
      `Answered 200 ${'x '.repeat(long / 2)}`,
    ];
    // Some milliseconds; an exponential pattern takes hours.
    expect(cpuSeconds(() => lines.forEach(parseMessage))).toBeLessThan(2);
  });
});
