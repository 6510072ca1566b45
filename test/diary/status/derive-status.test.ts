// The status that follows from stored figures: each breakage, the times at which it begins, and what helps.
import { expect, it } from 'vitest';
import { toStatusJson } from '../../../src/cli/status-text.ts';
import { type BreakageCode, breakages } from '../../../src/diary/status/breakages.ts';
import { deriveStatus, isTrouble, troubles } from '../../../src/diary/status/person-status.ts';
import { findRemedy, quotedName } from '../../../src/diary/status/remedies.ts';
import { initialPipelineState } from '../../../src/model/pipeline-state.ts';
import { faultReason } from '../../../src/model/rejections.ts';
import { believedAhead } from '../../../src/model/time.ts';
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
      'entries of another service and no put of a phone, long ago',
      { profile: { last_stored_ts: now - 60, last_located_ts: now - 9 * day, last_fetch_ts: now - 60 } },
      ['in_order', null, null],
    ],
    ['a limit met at the last put', { profile: { ...usual, last_limit_ts: now - 60 } }, ['in_order', null, null]],
    [
      'a limit met by a person who never pushed',
      { profile: { last_limit_ts: now - 60 }, user },
      ['never_began', began, 'limited'],
    ],
    [
      'a last put three days ago, and calls since',
      { profile: { ...quiet(now - 3 * day), last_fetch_ts: now - 9 } },
      ['in_order', null, null],
    ],
    [
      'a last put before that, and calls since',
      { profile: { ...quiet(now - 3 * day - 1), last_fetch_ts: now - 9 } },
      ['without_locations', now - 3 * day - 1, 'no_put'],
    ],
    [
      'the last stored entry and location three days ago',
      { profile: { ...quiet(now - 3 * day), last_put_ts: now - 9 } },
      ['in_order', null, null],
    ],
    [
      'the last stored entry before that',
      { profile: { ...quiet(now - 3 * day - 1), last_put_ts: now - 9 } },
      ['without_locations', now - 3 * day - 1, 'nothing_stored'],
    ],
    [
      'the last location before that',
      { profile: { ...usual, last_located_ts: now - 3 * day - 1 } },
      ['without_locations', now - 3 * day - 1, 'no_location'],
    ],
    [
      'a clock that is ahead as far as is believed',
      { profile: { ...usual, last_phone_data_ts: now - 60 + believedAhead } },
      ['in_order', null, null],
    ],
    [
      'a clock that is farther ahead',
      { profile: { ...usual, last_phone_data_ts: now - 59 + believedAhead } },
      ['without_locations', now - 60, 'clock_ahead'],
    ],
    [
      'changed data of a run that was stopped',
      { lease: { expires_ts: now, owner: 'host-1' } as never, state: { changed: { from: 1 } as never } },
      ['behind', now, 'run_stopped'],
    ],
    [
      'due documents of a run that was stopped',
      { lease: { expires_ts: now, owner: 'host-1' } as never, state: { documents_due: true } },
      ['behind', now, 'run_stopped'],
    ],
    ['a lease that expired with nothing due', { lease: { expires_ts: now } as never }, ['in_order', null, null]],
    [
      'ten rejected entries that no trip needs',
      { set_aside: [{ key: 'background/battery', reason: 'x', count: 10, last_ts: now }] },
      ['in_order', null, null],
    ],
    [
      'ten rejected locations of two reasons, of a converter that accepted others',
      { set_aside: [...lost(4, now), ...lost(6, now - 1)], state: { converted_ts: now - 5 } },
      ['behind', now - 5, 'set_aside'],
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

const idle = figures({ profile: {}, user });
const busy = figures({
  stage: 'erasing',
  user: { ...user, user_email: "o'neill", study: 'sunny' },
  tokens: [
    { ...token, kind: 'made' },
    { ...token, kind: 'owntracks' },
  ],
  profile: {
    ...{ last_refusal: 'mob_1', last_refusal_ts: now - 60, last_refusal_why: 'unknown', last_limit: 'calls_per_day' },
    ...{ client_app_version: '1.2', last_fetch_ts: now - 3600 },
  },
  lease: { owner: 'host-1' } as never,
  waiting: { count: 3, ahead: 2, next_due_ts: now + 60 },
  set_aside: [...bad('x', 1), ...bad('y', 1), { key: null, reason: faultReason, count: 1, last_ts: 1 }],
  state: { last_error: 'MOBILITY_STORE_FULL: x' },
});

it.each<[BreakageCode, PersonFigures, detail: string, next: string]>([
  ['damaged', idle, '', 'restore a backup, or leave the row out: mobility store check --user ada --leave-out'],
  ['unfinished', idle, '', 'repeat the `mobility migrate`'],
  ['unfinished', busy, '', "mobility erase --user 'o'\\''neill'"],
  [
    'stopped',
    idle,
    '',
    'nothing: it is their wish; to record again, if they ask for it: mobility users token ada --qr',
  ],
  [
    'stopped',
    busy,
    '',
    "nothing: it is their wish; to record again, if they ask for it: mobility users token 'o'\\''neill' --app owntracks --qr",
  ],
  ['no_token', idle, 'The last one is refused since 1970-01-01 00:00.', 'mobility users token ada --qr'],
  [
    'no_token',
    busy,
    'The last one is refused since 2023-11-13 22:13.',
    "mobility users token 'o'\\''neill' --app owntracks --qr",
  ],
  ['never_called', idle, 'They have no token.', 'mobility users token ada --qr'],
  [
    'never_called',
    busy,
    '',
    "ask 'o'\\''neill' to install the app and to open their link; can phones reach the server? mobility doctor --url https://…",
  ],
  [
    'refused',
    busy,
    'It is mob_1, last tried 1 min ago.',
    "ask 'o'\\''neill' to type the token again, or give them a new one: mobility users token 'o'\\''neill' --app owntracks --qr",
  ],
  [
    'silent',
    idle,
    '',
    'ask ada: is the phone on, the app installed and signed in, is it allowed to work in the background? (docs/phones.md) No change on the server can help',
  ],
  ['limited', busy, 'The limit is calls_per_day.', 'it sends again by itself; docs/configuration.md has the limits'],
  ['no_put', idle, 'Its last call came never.', 'a proxy may refuse large bodies: mobility doctor --url https://…'],
  [
    'no_put',
    busy,
    'Its last call came 2023-11-14 21:13 (1 h ago).',
    'a proxy may refuse large bodies: mobility doctor --url https://…',
  ],
  ['nothing_stored', idle, '0 entries are rejected.', 'mobility errors --user ada'],
  ['nothing_stored', busy, '3 entries are rejected.', "mobility errors --user 'o'\\''neill'"],
  [
    'clock_ahead',
    idle,
    '',
    'ask ada to set date and time of the phone to automatic; a run processes a pending entry only when its time has come',
  ],
  [
    'clock_ahead',
    busy,
    'The first of 2 entries is due 2023-11-14 22:14.',
    "ask 'o'\\''neill' to set date and time of the phone to automatic; a run processes a pending entry only when its time has come",
  ],
  [
    'encrypted',
    idle,
    '0 messages are rejected.',
    'ask ada to remove the encryption key in the settings of the app; the connection is encrypted without it (docs/phones.md)',
  ],
  [
    'encrypted',
    busy,
    '3 messages are rejected.',
    "ask 'o'\\''neill' to remove the encryption key in the settings of the app; the connection is encrypted without it (docs/phones.md)",
  ],
  [
    'unknown_messages',
    idle,
    '0 messages are rejected.',
    'ask ada to set up the app again as described (docs/phones.md); mobility errors --user ada shows what the app sends',
  ],
  [
    'unknown_messages',
    busy,
    '3 messages are rejected.',
    "ask 'o'\\''neill' to set up the app again as described (docs/phones.md); mobility errors --user 'o'\\''neill' shows what the app sends",
  ],
  [
    'misdated',
    idle,
    '',
    'ask ada to restart the phone under an open sky and to update the app: the GPS receiver reports a wrong year',
  ],
  [
    'inexact',
    idle,
    '',
    'ask ada to switch on "Precise Location" for the app (on Android: "Use precise location") (docs/phones.md)',
  ],
  [
    'no_location',
    idle,
    'It calls, last never.',
    'ask ada: is location set to "always", the battery saver off, tracking on? (docs/phones.md) No change on the server can help',
  ],
  [
    'no_location',
    busy,
    'It calls, last 2023-11-14 21:13 (1 h ago).',
    "ask 'o'\\''neill': is location set to \"always\", the battery saver off, tracking on? (docs/phones.md) No change on the server can help",
  ],
  [
    'run_failed',
    busy,
    'MOBILITY_STORE_FULL: x',
    'free space on the disk of the store; the next run continues by itself',
  ],
  ['run_stopped', idle, 'It was another one.', 'the next run continues: mobility pipeline --user ada'],
  ['run_stopped', busy, 'It was host-1.', "the next run continues: mobility pipeline --user 'o'\\''neill'"],
  ['not_run', idle, '0 entries are pending.', 'does the pipeline run? mobility pipeline --user ada'],
  ['not_run', busy, '1 entry is pending.', "does the pipeline run? mobility pipeline --user 'o'\\''neill'"],
  [
    'program_fault',
    idle,
    '0 entries; nothing is lost.',
    'mobility errors --user ada (after an update: mobility recover-errors --user ada)',
  ],
  ['set_aside', idle, '0 entries in all.', 'mobility errors --user ada'],
  [
    'set_aside',
    busy,
    '3 entries in all. The app is version 1.2: an old one may be the cause.',
    "mobility errors --user 'o'\\''neill'",
  ],
])('the details and the remedy of %s', (code, of, detail, next) => {
  const since = of === idle ? null : now - day;
  const found = findRemedy(deriveStatus(of, { now }), { link: 'registered', code, since }, { now, zone: 'UTC' });
  expect(found).toEqual({ why: `${breakages[code].text} ${detail}`.trimEnd(), next });
});

it('the remedy of a damaged row names the row', () => {
  const status = { ...deriveStatus(idle, { now }), damage: 'row 7' };
  const broken = { link: 'registered', code: 'damaged', since: null } as const;
  expect(findRemedy(status, broken, { now, zone: 'UTC' }).why).toBe('row 7');
  expect([toStatusJson(status), toStatusJson(deriveStatus(idle, { now }))].map((json) => json.damage)).toEqual([
    'row 7',
    undefined,
  ]);
});

it('the times of each step, from the stored figures', () => {
  const profile = {
    ...{ last_put_ts: now - 1, last_phone_data_ts: now - 2, last_stored_ts: now - 3, last_located_ts: now - 4 },
    ...{ last_location_ts: now - 5, last_fetch_ts: now - 6, last_limit_ts: now - 7, update_ts: now - 8 },
  };
  const state = { moved_ts: now - 10, converted_ts: now - 11, last_run_ts: now - 12, complete_until: now - 13 };
  const observed = { seen: { ts: now - 14 } } as never;
  expect(deriveStatus(figures({ profile, state: { ...state, observed } }), { now }).chain).toEqual({
    registered: { ts: began },
    joined: { ts: began + 5 },
    called: { ts: now - 1 },
    pushed: { ts: now - 1, phone_ts: now - 2 },
    stored: { ts: now - 3 },
    located: { ts: now - 4, phone_ts: now - 5 },
    moved: { ts: now - 10 },
    converted: { ts: now - 11 },
    analysed: { ts: now - 12, phone_ts: now - 14 },
    final: { ts: null, phone_ts: now - 13 },
    fetched: { ts: now - 6 },
  });
  const texts = { last_put_ts: 'soon', last_stored_ts: 'soon', last_fetch_ts: 'soon' };
  const none = deriveStatus(figures({ profile: texts, state: { last_error: 'no', last_run_ts: 7 } }), { now }).chain;
  expect([none.pushed.ts, none.stored.ts, none.fetched.ts]).toEqual([null, began + 60, null]);
  expect(none.analysed).toEqual({ ts: null, phone_ts: null });
  expect(deriveStatus(figures({ profile: {}, user }), { now }).chain.joined.ts).toBeNull();
});

it.each<[Partial<PersonFigures>, number | null]>([
  [{ profile: { last_put_ts: 5 } }, 5],
  [{ profile: { last_fetch_ts: 5, last_limit_ts: 4, update_ts: 3 } }, 5],
  [{ profile: { last_fetch_ts: 3, last_limit_ts: 5, update_ts: 4 } }, 5],
  [{ profile: { last_fetch_ts: 3, last_limit_ts: 4, update_ts: 5 } }, 5],
  [{ profile: { update_ts: 5 }, user: { ...user, joined_ts: 6 } }, 6],
  [{ profile: { update_ts: 5 }, tokens: [{ ...token, used_ts: 8 }, { ...token, used_ts: 7 }, token] }, 8],
  [{ profile: {} }, null],
])('the last call of %o', (changes, expected) => {
  expect(deriveStatus(figures({ user, ...changes }), { now }).chain.called.ts).toBe(expected);
});

it.each([
  ['format_encrypted', 'encrypted'],
  ['format_not_an_object', 'unknown_messages'],
  ['format_unknown', 'unknown_messages'],
  ['format_no_time', 'unknown_messages'],
  ['format_bad_time', 'misdated'],
  ['metadata_missing', 'nothing_stored'],
])('messages rejected as %s are %s', (reason, code) => {
  const status = deriveStatus(figures({ profile: { last_put_ts: now - 60 }, set_aside: bad(reason, now - 60) }), {
    now,
  });
  expect(status.broken?.code).toBe(code);
});

it('the states that need action, most urgent first', () => {
  expect(troubles).toEqual(['refused', 'behind', 'unusable', 'without_locations', 'silent', 'never_began']);
  const states = ['in_order', 'stopped', ...troubles] as const;
  expect(states.filter((state) => !isTrouble(state))).toEqual(['in_order', 'stopped']);
});

it('the number of entries that a converter failed on', () => {
  const fault = { key: 'k', reason: faultReason, count: 3, last_ts: 1 };
  const set_aside = [fault, { ...fault, key: 'l', count: 4 }, { ...fault, reason: 'other' }];
  expect(deriveStatus(figures({ set_aside }), { now }).faults).toBe(7);
});

it.each<[string, Changes, number | null]>([
  ['since the first put after the last run', { profile: { waiting_since_ts: now - 60 }, waiting: { count: 1 } }, 60],
  ['since the last run', { profile: { waiting_since_ts: now - 60 }, state: { last_run_ts: now - 50 } }, 50],
  ['not if all are dated ahead', { profile: { waiting_since_ts: now - 60 }, waiting: { ahead: 2 } }, null],
  ['not before the put', { profile: { waiting_since_ts: now + 9 } }, 0],
  ['not known when', { profile: {} }, null],
])('entries are pending %s', (_, { state, waiting, ...changes }, expected) => {
  const found = figures({ state: { last_run_ts: null, ...state }, waiting: { count: 2, ...waiting }, ...changes });
  expect(deriveStatus(found, { now }).waiting_s).toBe(expected);
});

it.each([
  [now - day, day],
  [now - day - 1, null],
  [now, 0],
  [now + 1, null],
])('the lag counts puts of the last day: %d', (waiting_since_ts, expected) => {
  const found = figures({ profile: { waiting_since_ts }, state: { last_run_ts: null }, waiting: { count: 1 } });
  expect(deriveStatus(found, { now }).lag_s).toBe(expected);
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
