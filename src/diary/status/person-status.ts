// The steps from registration to the fetched diary, and the first step that fails.
//
//   step      registered  joined  called  pushed   stored   located  moved  ...
//   last      1 Nov       1 Nov   today   28 Nov   28 Nov   never
//   result    broken step: located, code no_location; state: without_locations
import type { FormatReason } from '../../intake/apps/other-entry.ts';
import { affectsOf } from '../../model/keys.ts';
import { faultReason } from '../../model/rejections.ts';
import { believedAhead, day } from '../../model/time.ts';
import { refusalOf, stoppedSince, type UserRecord } from '../../model/user.ts';
import type { PersonFigures } from '../../store/store.ts';
import { type BreakageCode, breakages, type PersonState, type StepName, type Steps } from './breakages.ts';

/** States of trouble, the most urgent first. Reminders ignore `never_began` in the first `usualSilentDays`. */
export const troubles = ['refused', 'behind', 'unusable', 'without_locations', 'silent', 'never_began'] as const;

export const isTrouble = (state: PersonState): state is (typeof troubles)[number] =>
  troubles.some((one) => one === state);

/** The first failing step, its cause, and when it began to fail. */
export type BrokenStep = { link: StepName; code: BreakageCode; since: number | null };

/** `since`: when the state began; null: not known, or the state is `in_order`. */
export interface PersonStatus {
  user: UserRecord;
  state: PersonState;
  since: number | null;
  chain: Steps;
  broken: BrokenStep | null;
  /** For `damaged`: the row, and what is wrong with it. */
  damage?: string;
  figures: PersonFigures;
  /** Number of entries rejected because a converter failed. */
  faults: number;
  /** Seconds for which entries have been pending although a run could have moved them. */
  waiting_s: number | null;
  /** Seconds from the first put after a run to the next run, or to now; null: no such put in the last day. */
  lag_s: number | null;
}

/** When a status is derived, and after how many days a silent phone counts as broken. */
export interface StatusOptions {
  /** Seconds since the epoch. */
  now: number;
  /** Days without a call, or a location, until the phone needs action. */
  silentDays?: number;
}

/** Days; the default of `silentDays`. A phone in order calls every day. */
export const usualSilentDays = 3;
/** s; entries that are pending for longer show that the pipeline does not run, as most run daily (by hand) */
const longestPending = 1.5 * day;
/** s; an unknown token that is refused in this time after the person's last call may be of another person */
const unknownTokenDelay = day;
/** So many rejected entries count as a fault: a few among thousands are normal. */
const manyRejected = 10;

/** Derives the status of a person from their stored figures. Pure, in constant time. */
export function deriveStatus(figures: PersonFigures, options: StatusOptions): PersonStatus {
  const chain = toSteps(figures);
  const broken = findBrokenStep(figures, chain, options);
  const [state, since] = deriveState(figures, chain, broken);
  const faults = figures.set_aside.reduce((sum, one) => sum + (one.reason === faultReason ? one.count : 0), 0);
  const waits = { waiting_s: pendingTime(figures, options.now), lag_s: measureLag(figures, options.now) };
  return { user: figures.user, state, since, chain, broken, figures, faults, ...waits };
}

function toSteps({ user, registered_ts, profile, tokens, state }: PersonFigures): Steps {
  const field = (name: string): number | null => timeIn(profile, name);
  const calls = ['last_put_ts', 'last_fetch_ts', 'last_limit_ts', 'update_ts'].map(field);
  return {
    registered: { ts: registered_ts },
    joined: { ts: user.joined_ts ?? null },
    called: { ts: newest(...calls, user.joined_ts, ...tokens.map(({ used_ts }) => used_ts)) },
    pushed: { ts: field('last_put_ts'), phone_ts: field('last_phone_data_ts') },
    stored: { ts: field('last_stored_ts') ?? user.sent_ts ?? null },
    located: { ts: field('last_located_ts'), phone_ts: field('last_location_ts') },
    moved: { ts: state.moved_ts },
    converted: { ts: state.converted_ts },
    analysed: { ts: state.last_error === null ? state.last_run_ts : null, phone_ts: state.observed?.seen.ts ?? null },
    final: { ts: null, phone_ts: state.complete_until },
    fetched: { ts: field('last_fetch_ts') },
  };
}

function timeIn(profile: PersonFigures['profile'], name: string): number | null {
  const value = profile[name];
  return typeof value === 'number' ? value : null;
}

const newest = (...times: (number | null | undefined)[]): number | null =>
  times.reduce<number | null>((a, b) => (b == null ? a : Math.max(a ?? b, b)), null);

function brokenStep(code: BreakageCode, since: number | null): BrokenStep {
  return { link: breakages[code].step, code, since };
}

function findBrokenStep(figures: PersonFigures, chain: Steps, options: StatusOptions): BrokenStep | null {
  if (figures.stage !== 'active') return brokenStep('unfinished', null);
  const { called, stored } = chain;
  // Stored entries without a call or a token come from an import: the person has no phone.
  const isImported = called.ts === null && stored.ts !== null && figures.tokens.length === 0;
  const ofPhone = isImported
    ? null
    : (findCallFault(figures, chain, options) ??
      findUnusable(figures, chain, options) ??
      findPutFault(figures, chain, options));
  // A run may still fail with entries that the phone sent before the person stopped.
  if (ofPhone?.code === 'stopped') return findRunFault(figures, chain, options) ?? ofPhone;
  return ofPhone ?? findRunFault(figures, chain, options);
}

/** A step is overdue if it last succeeded before this time. */
const longAgo = ({ now, silentDays = usualSilentDays }: StatusOptions): number => now - silentDays * day;

function findCallFault(figures: PersonFigures, chain: Steps, options: StatusOptions): BrokenStep | null {
  const { profile, tokens } = figures;
  const { registered, called, pushed, stored } = chain;
  const stopped = stoppedSince(tokens, options.now);
  if (stopped !== null) return brokenStep('stopped', stopped);
  const refused = Number(profile.last_refusal_ts ?? 0);
  const isOwn = profile.last_refusal_why !== 'unknown';
  if (refused > (pushed.ts ?? 0) && (isOwn || refused > (called.ts ?? 0) + unknownTokenDelay))
    return brokenStep('refused', pushed.ts ?? called.ts ?? registered.ts);
  const refusals = tokens.map((token) => refusalOf(token, options.now)?.since);
  if (tokens.length > 0 && !refusals.includes(undefined)) return brokenStep('no_token', newest(...refusals));
  const heard = newest(called.ts, stored.ts);
  if (heard === null) return brokenStep('never_called', registered.ts);
  return heard < longAgo(options) ? brokenStep('silent', heard) : null;
}

const unusableReasons: ReadonlyMap<string, BreakageCode> = new Map<FormatReason, BreakageCode>([
  ['format_encrypted', 'encrypted'],
  ['format_not_an_object', 'unknown_messages'],
  ['format_unknown', 'unknown_messages'],
  ['format_no_time', 'unknown_messages'],
  ['format_bad_time', 'misdated'],
]);

/** Ignores an unusable message or location if a usable location arrived in the day before it. */
function findUnusable({ user, profile, set_aside }: PersonFigures, chain: Steps, options: StatusOptions) {
  const [good, bad] = [timeIn(profile, 'last_usable_ts'), timeIn(profile, 'last_unusable_ts')];
  const usable = good ?? (bad === null ? chain.located.ts : null);
  const found = set_aside.map(({ reason, last_ts }) => ({ code: unusableReasons.get(reason), ts: last_ts }));
  if (bad !== null) found.push({ code: profile.last_unusable_why === 'inexact' ? 'inexact' : 'misdated', ts: bad });
  const since = Math.max(longAgo(options), usable === null ? 0 : usable + day);
  const [last] = found.filter(({ code, ts }) => code !== undefined && ts >= since).sort((a, b) => b.ts - a.ts);
  if (last?.code === undefined) return null;
  return brokenStep(last.code, usable ?? user.sent_ts ?? newest(chain.registered.ts, user.joined_ts));
}

function findPutFault({ user, profile }: PersonFigures, chain: Steps, options: StatusOptions): BrokenStep | null {
  const { registered, pushed, stored, located } = chain;
  const long = longAgo(options);
  const began = newest(registered.ts, user.joined_ts)!;
  const limited = Number(profile.last_limit_ts ?? 0);
  if (limited > (pushed.ts ?? 0) && limited > options.now - day) return brokenStep('limited', pushed.ts ?? began);
  const put = newest(pushed.ts, stored.ts) ?? began;
  if (put < long) return brokenStep('no_put', put);
  if (pushed.ts === null) return null;
  if ((stored.ts ?? began) < long) return brokenStep('nothing_stored', stored.ts ?? began);
  if ((pushed.phone_ts ?? 0) > pushed.ts + believedAhead) return brokenStep('clock_ahead', pushed.ts);
  const since = located.ts ?? user.sent_ts ?? began;
  return since < long ? brokenStep('no_location', since) : null;
}

function findRunFault(figures: PersonFigures, { converted }: Steps, options: StatusOptions): BrokenStep | null {
  const { state, lease, waiting, set_aside } = figures;
  const { now } = options;
  const due = waiting.count > waiting.ahead || state.changed !== null || state.documents_due;
  if (state.last_error !== null) return brokenStep('run_failed', state.last_run_ts);
  if (lease !== null && lease.expires_ts <= now && due) return brokenStep('run_stopped', lease.expires_ts);
  const since = pendingSince(figures);
  if (due && since !== null && since < now - longestPending) return brokenStep('not_run', since);
  const faults = set_aside.filter(({ reason }) => reason === faultReason);
  if (faults.length > 0) return brokenStep('program_fault', newest(...faults.map(({ last_ts }) => last_ts)));
  const recent = set_aside.filter(({ last_ts }) => last_ts >= longAgo(options));
  const lost = recent.filter(({ key }) => key !== null && affectsOf(key) === 'trips');
  if (lost.reduce((sum, { count }) => sum + count, 0) < manyRejected) return null;
  return brokenStep('set_aside', converted.ts ?? newest(...lost.map(({ last_ts }) => last_ts)));
}

function pendingSince({ profile, state }: PersonFigures): number | null {
  const since = timeIn(profile, 'waiting_since_ts');
  return since === null ? null : Math.max(since, state.last_run_ts ?? since);
}

function deriveState({ user }: PersonFigures, chain: Steps, broken: BrokenStep | null): [PersonState, number | null] {
  const state = broken && breakages[broken.code].state;
  if (broken?.code === 'refused' || state === 'stopped' || state === 'unusable') return [state!, broken!.since];
  if (chain.stored.ts === null && user.sent_ts === undefined)
    return ['never_began', newest(chain.registered.ts, user.joined_ts)];
  return broken === null ? ['in_order', null] : [breakages[broken.code].state, broken.since];
}

/** Seconds for which entries have been pending, without entries whose `write_ts` is in the future; null: none. */
function pendingTime(figures: PersonFigures, now: number): number | null {
  const since = pendingSince(figures);
  return figures.waiting.count > figures.waiting.ahead && since !== null ? Math.max(0, now - since) : null;
}

function measureLag(figures: PersonFigures, now: number): number | null {
  const pushed = timeIn(figures.profile, 'waiting_since_ts');
  if (pushed === null || pushed > now || pushed < now - day) return null;
  const { last_run_ts: ran } = figures.state;
  return pendingTime(figures, now) ?? (ran !== null && ran >= pushed ? ran - pushed : null);
}
