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
import { row } from '../../support/row.ts';

const day = 86_400;
const now = 1_700_000_000;
const began = now - 30 * day;

interface Changes extends Omit<Partial<PersonFigures>, 'state' | 'waiting'> {
  state?: Partial<PersonFigures['state']>;
  waiting?: Partial<PersonFigures['waiting']>;
}

type Profile = PersonFigures['profile'];

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

const statusOf = (changes: Changes) => deriveStatus(figures(changes), { now });

const user = { uuid: 'u', user_email: 'ada', update_ts: began };
const token = { hash: 'h', user_id: 'u', created_ts: began, expires_ts: null };
const stopped = { ...token, revoked_ts: now - 9, revoked_why: 'stopped' as const };
const lost = (count: number, last_ts: number, key = 'background/location') => [
  { key, reason: 'out_of_range', count, last_ts },
];
const bad = (reason: string, last_ts: number) => [{ key: null, reason, count: 1, last_ts }];
const fault = { key: 'k', reason: faultReason, count: 3, last_ts: now - 8 };

/** A phone whose last put, entry and location are so many seconds ago. */
function last(seconds: number, fields: Profile = {}): Changes {
  const ts = now - seconds;
  return { profile: { last_put_ts: ts, last_stored_ts: ts, last_located_ts: ts, ...fields } };
}
const sends = (fields: Profile): Changes => ({ profile: { ...usual, ...fields } });
const refused = (last_refusal_ts: number, last_refusal_why = 'expired') => ({ last_refusal_ts, last_refusal_why });
const lease = (expires_ts: number) => ({ expires_ts, owner: 'host-1' }) as never;
/** A phone whose messages are rejected for a reason, the last one at a time. */
const rejected = (reason: string, last_ts: number, profile: Profile = { last_put_ts: now - 60 }): Changes => ({
  profile,
  set_aside: bad(reason, last_ts),
});
/** Entries wait since a time; the pipeline ran last at another. */
const waits = (waiting_since_ts: number, last_run_ts: number | null, waiting: Changes['waiting']): Changes => ({
  profile: { ...usual, waiting_since_ts },
  state: { last_run_ts },
  waiting,
});

const twoDays = { ...usual, last_usable_ts: now - 2 * day };

it.each<[title: string, changes: Changes]>([
  ['all is well', {}],
  ['imported data without a phone', { profile: { last_stored_ts: now - 90 * day }, user }],
  ['encrypted messages less than a day after a location', rejected('format_encrypted', now - 30, usual)],
  ['a refusal before the last put', sends(refused(now - 60))],
  ['a refusal of a stranger within a day of the last call', last(2 * day, refused(now - day, 'unknown'))],
  ['a last call three days ago', { ...last(3 * day), state: { last_run_ts: now } }],
  ['a message of another year less than a day after a usable one', rejected('format_bad_time', now - day - 1, twoDays)],
  ['entries that wait for a day and a half', waits(now - 1.5 * day, null, { count: 1 })],
  ['entries that wait longer for the time of their clock', waits(now - 1.5 * day - 1, null, { count: 1, ahead: 1 })],
  ['entries that came after the last run', waits(now - 2 * day, now - day, { count: 1 })],
  ['a limit met a day ago', last(day + 1, { last_limit_ts: now - day })],
  ['a limit met at the last put', sends({ last_limit_ts: now - 60 })],
  [
    'entries of another service and no put of a phone, long ago',
    { profile: { last_stored_ts: now - 60, last_located_ts: now - 9 * day, last_fetch_ts: now - 60 } },
  ],
  ['a last put three days ago, and calls since', last(3 * day, { last_fetch_ts: now - 9 })],
  ['the last stored entry and location three days ago', last(3 * day, { last_put_ts: now - 9 })],
  ['a clock that is ahead as far as is believed', sends({ last_phone_data_ts: now - 60 + believedAhead })],
  ['a lease that expired with nothing due', { lease: lease(now) }],
  ['a run under way', { lease: lease(now + 1), waiting: { count: 2, ahead: 1 } }],
  ['ten rejected entries that no trip needs', { set_aside: lost(10, now, 'background/battery') }],
  ['nine rejected locations', { set_aside: lost(9, now) }],
  ['ten rejected locations long ago', { set_aside: lost(10, now - 3 * day - 1) }],
])('in order: %s', (_, changes) => {
  expect(statusOf(changes)).toMatchObject({ state: 'in_order', since: null, broken: null });
});

/** What a person did, since when the state holds, and the state with its breakage. */
const person = row<[title: string, changes: Changes, since: number | null]>;
const late = (last_unusable_why: string) => ({ ...sends({ last_unusable_ts: now - 60, last_unusable_why }), user });

it.each([
  person('an own token is refused', sends(refused(now - 59)), now - 60)`refused: refused`,
  person('a phone that only called', { profile: { last_fetch_ts: now - 70, ...refused(now - 59) }, user }, now - 70)`
    refused: refused`,
  person('a phone that never called', { profile: refused(now - 59), user }, began)`refused: refused`,
  person('a stranger, a day after the last call', last(2 * day, refused(now - day + 1, 'unknown')), now - 2 * day)`
    refused: refused`,
  person('a token is revoked', { tokens: [{ ...stopped, revoked_why: 'replaced' }] }, now - 9)`refused: no_token`,
  person('a phone stopped', { tokens: [stopped] }, now - 9)`stopped: stopped`,
  person('a phone without data stopped', { profile: {}, user, tokens: [stopped] }, now - 9)`stopped: stopped`,
  person('nobody called', { profile: {}, user }, began)`never_began: never_called`,
  person('a call only updated a profile', { profile: { update_ts: now - 4 * day }, user }, began)`never_began: silent`,
  person('a limit was met before any push', { profile: { last_limit_ts: now - 60 }, user }, began)`
    never_began: limited`,
  person('the last call was three days ago', last(3 * day + 1), now - 3 * day - 1)`silent: silent`,
  person('all messages are encrypted', rejected('format_encrypted', now - 60), began + 60)`unusable: encrypted`,
  person('another year, a day after usable ones', rejected('format_bad_time', now - day, twoDays), now - 2 * day)`
    unusable: misdated`,
  person('locations are late', late('late'), began)`unusable: misdated`,
  person('a person sent nothing usable', { ...rejected('format_unknown', now - 60), user }, began)`
    unusable: unknown_messages`,
  person('no trips follow', late('inexact'), began)`unusable: inexact`,
  person('a limit was met after the last put', sends({ last_limit_ts: now - 59 }), now - 60)`
    without_locations: limited`,
  person('a limit was met days after the last put', last(4 * day, { last_limit_ts: now - 60 }), now - 4 * day)`
    without_locations: limited`,
  person('calls since a put three days ago', last(3 * day + 1, { last_fetch_ts: now - 9 }), now - 3 * day - 1)`
    without_locations: no_put`,
  person('puts since an entry three days ago', last(3 * day + 1, { last_put_ts: now - 9 }), now - 3 * day - 1)`
    without_locations: nothing_stored`,
  person('a location three days ago', sends({ last_located_ts: now - 3 * day - 1 }), now - 3 * day - 1)`
    without_locations: no_location`,
  person('farther than is believed', sends({ last_phone_data_ts: now - 59 + believedAhead }), now - 60)`
    without_locations: clock_ahead`,
  person('an erasure was interrupted', { stage: 'erasing' }, null)`behind: unfinished`,
  person('an error', { state: { last_error: 'no', last_run_ts: now - 7 } }, now - 7)`behind: run_failed`,
  person('a phone that stopped', { tokens: [stopped], state: { last_error: 'no', last_run_ts: now - 7 } }, now - 7)`
    behind: run_failed`,
  person('entries are pending', { lease: lease(now), waiting: { count: 2, ahead: 1 } }, now)`behind: run_stopped`,
  person('data are changed', { lease: lease(now), state: { changed: { from: 1 } as never } }, now)`
    behind: run_stopped`,
  person('documents are due', { lease: lease(now), state: { documents_due: true } }, now)`behind: run_stopped`,
  person('for a day and a half', waits(now - 1.5 * day - 1, null, { count: 1 }), now - 1.5 * day - 1)`
    behind: not_run`,
  person('a converter failed', { set_aside: [fault] }, now - 8)`behind: program_fault`,
  person('ten locations are rejected', { set_aside: lost(10, now - 3 * day) }, now - 3 * day)`behind: set_aside`,
  person(
    'ten of two reasons, of a converter that accepted others',
    { set_aside: [...lost(4, now), ...lost(6, now - 1)], state: { converted_ts: now - 5 } },
    now - 5,
  )`behind: set_aside`,
])('the breakage if %s', (_, changes, since, expected) => {
  const found = statusOf(changes);
  expect([`${found.state}: ${found.broken?.code}`, found.since]).toEqual([expected, since]);
  if (expected === 'behind: not_run') expect(found.waiting_s).toBe(now - since!);
});

it.each<[title: string, changes: Changes, lag_s: number | null]>([
  ['a run at the time of the put', waits(now - 60, now - 60, {}), 0],
  ['a run after the put', waits(now - 60, now - 50, {}), 10],
  ['a run before the put, which has been moved', waits(now - 60, now - 61, {}), null],
  ['a pending put', waits(now - 60, now - 61, { count: 1 }), 60],
  ['no run', waits(now - 60, null, {}), null],
  ['a put a day ago', waits(now - day, null, { count: 1 }), day],
  ['a put before that', waits(now - day - 1, null, { count: 1 }), null],
  ['a put now', waits(now, null, { count: 1 }), 0],
  ['a put of a clock ahead', waits(now + 1, null, { count: 1 }), null],
])('the lag of %s', (_, changes, expected) => {
  expect(statusOf(changes).lag_s).toBe(expected);
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

/**
 * A breakage, what its text says about `ada` and about `o'neill` (null: not asked), and the remedy. NAME is a name as
 * shells read it, TOKEN the command that makes a token.
 */
const remedy =
  (code: BreakageCode, idleText: string | null, busyText: string | null) =>
  ([next]: TemplateStringsArray) => ({ code, idleText, busyText, next: next!.trim() });

it.each([
  remedy('damaged', '', null)`restore a backup, or leave the row out: mobility store check --user NAME --leave-out`,
  remedy('unfinished', '', null)`repeat the \`mobility migrate\``,
  remedy('unfinished', null, '')`mobility erase --user NAME`,
  remedy('stopped', '', '')`nothing: it is their wish; to record again, if they ask for it: TOKEN`,
  remedy(
    'no_token',
    'The last token is refused since 1970-01-01 00:00.',
    'The last token is refused since 2023-11-13 22:13.',
  )`TOKEN`,
  remedy('never_called', 'The person has no token.', null)`TOKEN`,
  remedy('never_called', null, '')`
    ask NAME to install the app and to open their link; to test whether phones reach the server: mobility doctor --url https://…`,
  remedy('refused', null, 'It is mob_1, last tried 1 min ago.')`
    ask NAME to type the token again, or give them a new one: TOKEN`,
  remedy('silent', '', null)`
    ask NAME: is the phone on, the app installed and signed in, is it allowed to work in the background? (docs/phones.md) No change on the server can help`,
  remedy('limited', null, 'The limit is calls_per_day.')`
    nothing: the phone sends again by itself; docs/configuration.md has the limits`,
  remedy('no_put', 'Its last call came never.', 'Its last call came 2023-11-14 21:13 (1 h ago).')`
    a proxy may refuse large bodies: mobility doctor --url https://…`,
  remedy('nothing_stored', '0 entries are rejected.', '3 entries are rejected.')`mobility errors --user NAME`,
  remedy('clock_ahead', '', 'The first of 2 entries is due 2023-11-14 22:14.')`
    ask NAME to set date and time of the phone to automatic; a run processes a pending entry only when its time has come`,
  remedy('encrypted', '0 messages are rejected.', '3 messages are rejected.')`
    ask NAME to remove the encryption key in the settings of the app; the connection is encrypted also without it (docs/phones.md)`,
  remedy('unknown_messages', '0 messages are rejected.', '3 messages are rejected.')`
    ask NAME to set up the app again as described (docs/phones.md); mobility errors --user NAME shows what the app sends`,
  remedy('misdated', '', null)`
    ask NAME to restart the phone under an open sky and to update the app: the GPS receiver reports a wrong year`,
  remedy('inexact', '', null)`
    ask NAME to switch on "Precise Location" for the app (on Android: "Use precise location") (docs/phones.md)`,
  remedy('no_location', 'Its last call came never.', 'Its last call came 2023-11-14 21:13 (1 h ago).')`
    ask NAME: is location set to "always", the battery saver off, tracking on? (docs/phones.md) No change on the server can help`,
  remedy('run_failed', null, 'MOBILITY_STORE_FULL: x')`
    free space on the disk of the store; the next run continues by itself`,
  remedy(
    'run_stopped',
    'Owner of the lease: unknown.',
    'Owner of the lease: host-1.',
  )`the next run continues: mobility pipeline --user NAME`,
  remedy('not_run', '0 entries are pending.', '1 entry is pending.')`
    run the pipeline, and check that it runs regularly: mobility pipeline --user NAME`,
  remedy('program_fault', '0 entries are rejected; nothing is lost.', null)`
    mobility errors --user NAME (after an update: mobility recover-errors --user NAME)`,
  remedy(
    'set_aside',
    '0 entries are rejected in all.',
    '3 entries are rejected in all. The app has version 1.2: an old version may be the cause.',
  )`mobility errors --user NAME`,
])('the details and the remedy of $code', ({ code, idleText, busyText, next }) => {
  const expectRemedy = (of: PersonFigures, detail: string, name: string, token: string, since: number | null) =>
    expect(findRemedy(deriveStatus(of, { now }), { link: 'registered', code, since }, { now, zone: 'UTC' })).toEqual({
      why: `${breakages[code].text} ${detail}`.trimEnd(),
      next: next.replace('TOKEN', `mobility users token ${name} ${token}`).replaceAll('NAME', name),
    });
  if (idleText !== null) expectRemedy(idle, idleText, 'ada', '--qr', null);
  if (busyText !== null) expectRemedy(busy, busyText, "'o'\\''neill'", '--app owntracks --qr', now - day);
});

it('the remedy of a damaged row names the row', () => {
  const status = { ...deriveStatus(idle, { now }), damage: 'row 7' };
  const broken = { link: 'registered', code: 'damaged', since: null } as const;
  expect(findRemedy(status, broken, { now, zone: 'UTC' }).why).toBe('row 7');
  expect(toStatusJson(status)).toMatchObject({ damage: 'row 7' });
  expect(toStatusJson(deriveStatus(idle, { now })).damage).toBeUndefined();
});

it('the times of each step, from the stored figures', () => {
  const profile = {
    ...{ last_put_ts: now - 1, last_phone_data_ts: now - 2, last_stored_ts: now - 3, last_located_ts: now - 4 },
    ...{ last_location_ts: now - 5, last_fetch_ts: now - 6, last_limit_ts: now - 7, update_ts: now - 8 },
  };
  const state = { moved_ts: now - 10, converted_ts: now - 11, last_run_ts: now - 12, complete_until: now - 13 };
  const observed = { seen: { ts: now - 14 } } as never;
  expect(statusOf({ profile, state: { ...state, observed } }).chain).toEqual({
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
  const none = statusOf({ profile: texts, state: { last_error: 'no', last_run_ts: 7 } }).chain;
  expect([none.pushed.ts, none.stored.ts, none.fetched.ts]).toEqual([null, began + 60, null]);
  expect(none.analysed).toEqual({ ts: null, phone_ts: null });
  expect(statusOf({ profile: {}, user }).chain.joined.ts).toBeNull();
});

it.each<[Changes, number | null]>([
  [{ profile: { last_put_ts: 5 } }, 5],
  [{ profile: { last_fetch_ts: 5, last_limit_ts: 4, update_ts: 3 } }, 5],
  [{ profile: { last_fetch_ts: 3, last_limit_ts: 5, update_ts: 4 } }, 5],
  [{ profile: { last_fetch_ts: 3, last_limit_ts: 4, update_ts: 5 } }, 5],
  [{ profile: { update_ts: 5 }, user: { ...user, joined_ts: 6 } }, 6],
  [{ profile: { update_ts: 5 }, tokens: [{ ...token, used_ts: 8 }, { ...token, used_ts: 7 }, token] }, 8],
  [{ profile: {} }, null],
])('the last call of %o', (changes, expected) => {
  expect(statusOf({ user, ...changes }).chain.called.ts).toBe(expected);
});

it.each([
  ['format_not_an_object', 'unknown_messages'],
  ['format_no_time', 'unknown_messages'],
  ['metadata_missing', 'nothing_stored'],
])('messages rejected as %s are %s', (reason, code) => {
  expect(statusOf(rejected(reason, now - 60)).broken?.code).toBe(code);
});

it('the states that need action, most urgent first', () => {
  expect(troubles).toEqual(['refused', 'behind', 'unusable', 'without_locations', 'silent', 'never_began']);
  const states = ['in_order', 'stopped', ...troubles] as const;
  expect(states.filter((state) => !isTrouble(state))).toEqual(['in_order', 'stopped']);
});

it('the number of entries that a converter failed on', () => {
  const set_aside = [fault, { ...fault, key: 'l', count: 4 }, { ...fault, reason: 'other' }];
  expect(statusOf({ set_aside }).faults).toBe(7);
});

it.each<[string, Changes, number | null]>([
  ['since the first put after the last run', { profile: { waiting_since_ts: now - 60 }, waiting: { count: 1 } }, 60],
  ['since the last run', { profile: { waiting_since_ts: now - 60 }, state: { last_run_ts: now - 50 } }, 50],
  ['not if all are dated ahead', { profile: { waiting_since_ts: now - 60 }, waiting: { ahead: 2 } }, null],
  ['not before the put', { profile: { waiting_since_ts: now + 9 } }, 0],
  ['not known when', { profile: {} }, null],
])('entries are pending %s', (_, { state, waiting, ...changes }, expected) => {
  const found = statusOf({ state: { last_run_ts: null, ...state }, waiting: { count: 2, ...waiting }, ...changes });
  expect(found.waiting_s).toBe(expected);
});

it('the remedy depends on why a token was refused, what failed, and the study', () => {
  const found = (changes: Changes) => {
    const status = statusOf(changes);
    return findRemedy(status, status.broken!, { now, zone: 'UTC' });
  };
  expect(found(sends(refused(now - 59)))).toEqual({
    why: 'The phone sends a token that is refused. It was last tried 59 s ago.',
    next: 'mobility users token ada --qr',
  });
  expect(found(last(2 * day, refused(now - 59, 'unknown'))).next).toMatch(/^ask ada to type the token again/);
  expect(found({ state: { last_error: 'x' } }).next).toBe('mobility pipeline --user ada --debug');
  expect(found({ profile: {}, user: { ...user, study: 'sunny' } }).why).not.toContain('The person has no token.');
  expect(quotedName("o'neill x")).toBe("'o'\\''neill x'");
});

it('the JSON of a status has the limit that was reached and the last refusal, or null', () => {
  const json = (profile: Profile) => toStatusJson(statusOf(sends(profile)));
  const none = { limit_met: null, limit_met_ts: null, refusal: null, refusal_ts: null };
  expect(json({})).toMatchObject(none);
  const met = { last_limit: 'calls_per_day', last_limit_ts: 5, last_refusal: 'mob_1', last_refusal_ts: 6 };
  expect(json(met)).toMatchObject({ limit_met: 'calls_per_day', limit_met_ts: 5, refusal: 'mob_1', refusal_ts: 6 });
});
