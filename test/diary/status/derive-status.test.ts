// The status that follows from stored figures: each breakage, the times at which it begins, and what helps.
import { expect, it } from 'vitest';
import { deriveStatus } from '../../../src/diary/status/person-status.ts';
import { findRemedy, quotedName } from '../../../src/diary/status/remedies.ts';
import { toStatusJson } from '../../../src/diary/status/status-json.ts';
import { faultReason } from '../../../src/model/error-summary.ts';
import { initialPipelineState } from '../../../src/model/pipeline-state.ts';
import type { PersonFigures } from '../../../src/store/store.ts';

const day = 86_400;
const now = 1_700_000_000;
const began = now - 30 * day;

interface Changes extends Omit<Partial<PersonFigures>, 'state' | 'waiting'> {
  state?: Partial<PersonFigures['state']>;
  waiting?: Partial<PersonFigures['waiting']>;
}

/** A phone that sends, and of which nothing waits. */
const usual = { last_put_ts: now - 60, last_stored_ts: now - 60, last_located_ts: now - 60 };

function figures({ profile = usual, state, waiting, ...changes }: Changes): PersonFigures {
  return {
    user: { uuid: 'u', user_email: 'ada', update_ts: began, joined_ts: began + 5, sent_ts: began + 60 },
    registered_ts: began,
    audit_key: 'k',
    stage: 'active',
    profile,
    tokens: [],
    state: { ...initialPipelineState, last_run_ts: now - 30, ...state },
    lease: null,
    waiting: { count: 0, ahead: 0, next_due_ts: null, ...waiting },
    set_aside: [],
    ...changes,
  };
}

const user = { uuid: 'u', user_email: 'ada', update_ts: began };
const token = { hash: 'h', user_id: 'u', created_ts: began, expires_ts: null };
const stopped = { ...token, revoked_ts: now - 9, revoked_why: 'stopped' as const };
const lost = (count: number, last_ts: number) => [
  { key: 'background/location', reason: 'out_of_range', count, last_ts },
];
const bad = (reason: string, last_ts: number) => [{ key: null, reason, count: 1, last_ts }];
const quiet = (ts: number) => ({ last_put_ts: ts, last_stored_ts: ts, last_located_ts: ts });

const cases: [title: string, changes: Changes, expected: [state: string, since: number | null, code: string | null]][] =
  [
    ['all is well', {}, ['in_order', null, null]],
    ['an erasure that was interrupted', { stage: 'erasing' }, ['behind', null, 'unfinished']],
    ['imported data without a phone', { profile: { last_stored_ts: now - 90 * day }, user }, ['in_order', null, null]],
    [
      'a refusal of an own token',
      { profile: { ...usual, last_refusal_ts: now - 59, last_refusal_why: 'expired' } },
      ['refused', now - 60, 'refused'],
    ],
    [
      'a refusal of a phone that only called',
      { profile: { last_fetch_ts: now - 70, last_refusal_ts: now - 59, last_refusal_why: 'expired' }, user },
      ['refused', now - 70, 'refused'],
    ],
    [
      'a refusal of a phone that never called',
      { profile: { last_refusal_ts: now - 59, last_refusal_why: 'expired' }, user },
      ['refused', began, 'refused'],
    ],
    [
      'encrypted messages less than a day after a location',
      { set_aside: bad('format_encrypted', now - 30) },
      ['in_order', null, null],
    ],
    [
      'a refusal before the last put',
      { profile: { ...usual, last_refusal_ts: now - 60, last_refusal_why: 'expired' } },
      ['in_order', null, null],
    ],
    [
      'a refusal of a stranger within a day of the last call',
      { profile: { ...quiet(now - 2 * day), last_refusal_ts: now - day, last_refusal_why: 'unknown' } },
      ['in_order', null, null],
    ],
    [
      'a refusal of a stranger more than a day after the last call',
      { profile: { ...quiet(now - 2 * day), last_refusal_ts: now - day + 1, last_refusal_why: 'unknown' } },
      ['refused', now - 2 * day, 'refused'],
    ],
    [
      'a token that is revoked',
      { tokens: [{ ...token, revoked_ts: now - 9, revoked_why: 'replaced' }] },
      ['refused', now - 9, 'no_token'],
    ],
    ['a person who never called', { profile: {}, user }, ['never_began', began, 'never_called']],
    [
      'a last call three days ago',
      { profile: quiet(now - 3 * day), state: { last_run_ts: now } },
      ['in_order', null, null],
    ],
    ['a last call before that', { profile: quiet(now - 3 * day - 1) }, ['silent', now - 3 * day - 1, 'silent']],
    [
      'encrypted messages and nothing else',
      { profile: { last_put_ts: now - 60 }, set_aside: bad('format_encrypted', now - 60) },
      ['unusable', began + 60, 'encrypted'],
    ],
    [
      'messages of another year, a day after the last usable one',
      { profile: { ...usual, last_usable_ts: now - 2 * day }, set_aside: bad('format_bad_time', now - day) },
      ['unusable', now - 2 * day, 'misdated'],
    ],
    [
      'a message of another year less than a day after a usable one',
      { profile: { ...usual, last_usable_ts: now - 2 * day }, set_aside: bad('format_bad_time', now - day - 1) },
      ['in_order', null, null],
    ],
    [
      'unknown messages of a person who sent nothing usable',
      { profile: { last_put_ts: now - 60 }, set_aside: bad('format_unknown', now - 60), user },
      ['unusable', began, 'unknown_messages'],
    ],
    [
      'messages without a time of a person who sent nothing usable',
      { profile: { last_put_ts: now - 60 }, set_aside: bad('format_no_time', now - 60), user },
      ['unusable', began, 'unknown_messages'],
    ],
    [
      'a call that only updated the profile, days ago',
      { profile: { update_ts: now - 4 * day }, user },
      ['never_began', began, 'silent'],
    ],
    [
      'locations too inexact for trips',
      { profile: { ...usual, last_unusable_ts: now - 60, last_unusable_why: 'inexact' }, user },
      ['unusable', began, 'inexact'],
    ],
    [
      'locations that cannot be used for another reason',
      { profile: { ...usual, last_unusable_ts: now - 60, last_unusable_why: 'late' }, user },
      ['unusable', began, 'misdated'],
    ],
    [
      'a limit met after a last put of days ago: a call',
      { profile: { ...quiet(now - 4 * day), last_limit_ts: now - 60 } },
      ['without_locations', now - 4 * day, 'limited'],
    ],
    ['a phone that stopped', { tokens: [stopped] }, ['stopped', now - 9, 'stopped']],
    ['a phone that stopped without data', { profile: {}, user, tokens: [stopped] }, ['stopped', now - 9, 'stopped']],
    [
      'entries that wait for a day and a half',
      { profile: { ...usual, waiting_since_ts: now - 1.5 * day }, state: { last_run_ts: null }, waiting: { count: 1 } },
      ['in_order', null, null],
    ],
    [
      'a phone that stopped, after a run that failed',
      { tokens: [stopped], state: { last_error: 'no', last_run_ts: now - 7 } },
      ['behind', now - 7, 'run_failed'],
    ],
    [
      'entries that came after the last run',
      {
        profile: { ...usual, waiting_since_ts: now - 2 * day },
        state: { last_run_ts: now - day },
        waiting: { count: 1 },
      },
      ['in_order', null, null],
    ],
    [
      'a limit met after the last put',
      { profile: { ...usual, last_limit_ts: now - 59 } },
      ['without_locations', now - 60, 'limited'],
    ],
    [
      'a limit met a day ago',
      { profile: { ...quiet(now - day - 1), last_limit_ts: now - day } },
      ['in_order', null, null],
    ],
    [
      'calls without a put',
      { profile: { ...quiet(now - 4 * day), last_fetch_ts: now - 9 } },
      ['without_locations', now - 4 * day, 'no_put'],
    ],
    [
      'puts of which nothing is stored',
      { profile: { ...quiet(now - 4 * day), last_put_ts: now - 9 } },
      ['without_locations', now - 4 * day, 'nothing_stored'],
    ],
    [
      'puts without a location',
      { profile: { ...usual, last_located_ts: now - 4 * day } },
      ['without_locations', now - 4 * day, 'no_location'],
    ],
    ['a run that failed', { state: { last_error: 'no', last_run_ts: now - 7 } }, ['behind', now - 7, 'run_failed']],
    [
      'a run that was stopped',
      { lease: { expires_ts: now, owner: 'host-1' } as never, waiting: { count: 2, ahead: 1 } },
      ['behind', now, 'run_stopped'],
    ],
    [
      'a run under way',
      { lease: { expires_ts: now + 1, owner: 'host-1' } as never, waiting: { count: 2, ahead: 1 } },
      ['in_order', null, null],
    ],
    [
      'entries that wait for more than a day and a half',
      {
        profile: { ...usual, waiting_since_ts: now - 1.5 * day - 1 },
        state: { last_run_ts: null },
        waiting: { count: 1 },
      },
      ['behind', now - 1.5 * day - 1, 'not_run'],
    ],
    [
      'entries that wait as long for the time of their clock',
      {
        profile: { ...usual, waiting_since_ts: now - 1.5 * day - 1 },
        state: { last_run_ts: null },
        waiting: { count: 1, ahead: 1 },
      },
      ['in_order', null, null],
    ],
    [
      'a fault of a converter',
      { set_aside: [{ key: 'k', reason: faultReason, count: 3, last_ts: now - 8 }] },
      ['behind', now - 8, 'program_fault'],
    ],
    ['nine rejected locations', { set_aside: lost(9, now) }, ['in_order', null, null]],
    ['ten rejected locations', { set_aside: lost(10, now - 3 * day) }, ['behind', now - 3 * day, 'set_aside']],
    ['ten of them long ago', { set_aside: lost(10, now - 3 * day - 1) }, ['in_order', null, null]],
  ];

it.each(cases)('%s', (_, changes, expected) => {
  const { state, since, broken, waiting_s } = deriveStatus(figures(changes), { now });
  expect([state, since, broken?.code ?? null]).toEqual(expected);
  if (broken?.code === 'not_run') expect(waiting_s).toBe(now - since!);
});

it.each([
  ['a run at the time of the put', now - 60, 0, 0],
  ['a run after the put', now - 50, 0, 10],
  ['a run before the put, which has been moved', now - 61, 0, null],
  ['a pending put', now - 61, 1, 60],
  ['no run', null, 0, null],
])('the lag of %s', (_, last_run_ts, count, expected) => {
  const profile = { ...usual, waiting_since_ts: now - 60 };
  expect(deriveStatus(figures({ profile, state: { last_run_ts }, waiting: { count } }), { now }).lag_s).toBe(expected);
});

it('the remedy names the person, the command and the facts', () => {
  const remedy = (changes: Changes) => {
    const status = deriveStatus(figures(changes), { now });
    return findRemedy(status, status.broken!, { now, zone: 'UTC' });
  };
  const refusal = { last_refusal_ts: now - 59, last_refusal: 'mob_1234', last_refusal_why: 'expired' };
  expect(remedy({ profile: { ...usual, ...refusal } })).toEqual({
    why: expect.stringContaining('It is mob_1234, last tried '),
    next: 'mobility users token ada --qr',
  });
  const unknown = { ...quiet(now - 2 * day), ...refusal, last_refusal_why: 'unknown' };
  expect(remedy({ profile: unknown }).next).toBe(
    'ask ada to type the token again, or give them a new one: mobility users token ada --qr',
  );
  const lease = { expires_ts: now, owner: 'host-1' } as never;
  expect(remedy({ lease, waiting: { count: 1 } }).why).toContain('It was host-1.');
  expect(remedy({ stage: 'erasing' }).next).toBe('mobility erase --user ada');
  expect(remedy({ stage: 'arriving' }).next).toBe('repeat the `mobility migrate`');
  const fault = [{ key: 'k', reason: faultReason, count: 3, last_ts: now - 8 }];
  expect(remedy({ set_aside: fault }).why).toContain('3 entries; nothing is lost.');
  expect(remedy({ state: { last_error: 'MOBILITY_STORE_FULL: x' } }).next).toContain('free space');
  expect(remedy({ state: { last_error: 'x' } }).next).toBe('mobility pipeline --user ada --debug');
  const waits = { profile: { ...usual, waiting_since_ts: now - 2 * day }, state: { last_run_ts: null } };
  expect(remedy({ ...waits, waiting: { count: 5, ahead: 2 } }).why).toContain('3 entries are pending.');
  const old = { profile: { ...usual, client_app_version: '1.2' }, set_aside: lost(12, now) };
  expect(remedy(old).why).toContain('12 entries in all. The app is version 1.2');
  expect(remedy({ profile: {}, user }).why).toContain('They have no token.');
  expect(remedy({ profile: {}, user: { ...user, study: 'sunny' } }).why).not.toContain('They have no token.');
  expect(quotedName("o'neill x")).toBe("'o'\\''neill x'");
});

it('the JSON of a status has the limit that was reached and the last refusal, or null', () => {
  const json = (profile: Record<string, number | string>) =>
    toStatusJson(deriveStatus(figures({ profile: { ...usual, ...profile } }), { now }));
  const none = { limit_met: null, limit_met_ts: null, refusal: null, refusal_ts: null };
  expect(json({})).toMatchObject(none);
  const met = { last_limit: 'calls_per_day', last_limit_ts: 5, last_refusal: 'mob_1', last_refusal_ts: 6 };
  expect(json(met)).toMatchObject({ limit_met: 'calls_per_day', limit_met_ts: 5, refusal: 'mob_1', refusal_ts: 6 });
});
