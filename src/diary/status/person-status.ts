// Where a person stands: the chain from their registration to the diary that they fetch, and its first broken link.

import { faultReason } from '../../model/error-summary.ts';
import { affectsOf } from '../../model/keys.ts';
import { believedAhead, day } from '../../model/time.ts';
import { refusalOf, stoppedSince, type UserRecord } from '../../model/user.ts';
import type { PersonFigures } from '../../store/store.ts';

/**
 * When each link of a person's chain held last, seconds since the epoch; null: never, or not known. The links stand in
 * their order: each needs those before it.
 */
export interface Chain {
  registered: Link;
  /** By the link of a study; people whom an operator registered join nothing. */
  joined: Link;
  /** A call with a good token; one that only reads is known to the hour. */
  called: Link;
  /** A put that was stored as a whole; `phone_ts`: its newest `write_ts`. */
  pushed: Link;
  /** A put that brought entries. */
  stored: Link;
  /** A put with a location; `phone_ts`: the newest location of all. */
  located: Link;
  /** A run took entries from those that wait. */
  moved: Link;
  /** A converter accepted an entry. */
  converted: Link;
  /** The last run, if it did not fail; `phone_ts`: the last thing that the phone said of its movement. */
  analysed: Link;
  /** `phone_ts`: the diary is final up to here. */
  final: Link;
  /** A phone or a page fetched days or trips; known to the hour. */
  fetched: Link;
}

/** When a link held last: by the service's clock and, where there is one, by the phone's. */
export interface Link {
  ts: number | null;
  phone_ts?: number | null;
}

/** A link, by its name. */
export type LinkName = keyof Chain;

/**
 * What people are sorted by. `refused`: their phone is, and pushed nothing since. `never_began`: nothing of them was
 * ever stored. `silent`: no call for some days. `without_locations`: calls, but no location for some days. `behind`:
 * what they pushed waits for long, or their runs fail. `stopped`: they want no more to be recorded.
 */
export type PersonState =
  | 'in_order'
  | 'silent'
  | 'without_locations'
  | 'never_began'
  | 'refused'
  | 'behind'
  | 'stopped';

/**
 * The states that want somebody to look, the most urgent first; `never_began` only some days after the registration.
 */
export const troubles = ['refused', 'behind', 'without_locations', 'silent', 'never_began'] as const;

/** True for a state that wants somebody to look. */
export const isTrouble = (state: PersonState): state is (typeof troubles)[number] =>
  troubles.some((one) => one === state);

/** What breaks a link: every code with a sentence. */
export const breakages = {
  damaged: 'A row of the store cannot be read.',
  unfinished: 'An erasure, or a copy from another store, has begun and not ended.',
  stopped: 'The person stopped the recording on their page.',
  no_token: 'There is no token that opens the account.',
  never_called: 'No call of the phone ever arrived.',
  refused: 'The phone sends a token that is refused.',
  silent: 'The phone does not call any more.',
  limited: 'The phone meets a limit for one caller, and pushed nothing since.',
  no_put: 'The phone calls, and no put of it arrives.',
  nothing_stored: 'Puts arrive, and bring no entry.',
  clock_ahead: "The phone's clock is more than a day ahead: what it pushes waits until that time has come.",
  no_location: 'The phone pushes, and no location.',
  run_failed: 'The last run failed.',
  run_stopped: 'A run was ended in the middle.',
  not_run: 'Entries wait, and no run takes them.',
  program_fault: 'A converter of the program fails: what it should convert is set aside.',
  set_aside: 'Entries that trips are made of are set aside.',
} as const;

/** The first broken link of a chain, what broke it, and since when. */
export interface Breakage {
  link: LinkName;
  code: keyof typeof breakages;
  since: number | null;
}

/** Where a person stands. */
export interface Stand {
  user: UserRecord;
  state: PersonState;
  /** Since when they are in a state that is not in order; null: they are in order. */
  since: number | null;
  chain: Chain;
  /** Null: the chain is whole. */
  broken: Breakage | null;
  /** With `damaged`: which row, and what is wrong with it. */
  damage?: string;
  /** What else the figures say of them. */
  figures: PersonFigures;
  /** Set aside as a converter failed in a way that is no judgement of the entry. */
  faults: number;
  /** s that entries wait which a run could take; null: none do. */
  waiting_s: number | null;
  /** s from the first put that waited to the run that took it, or to now; null: none came within a day. */
  lag_s: number | null;
}

/** When people count as silent and the like. */
export interface StandOptions {
  /** Seconds since the epoch. */
  now: number;
  /** Days without a call, or without a location. Default 3: a phone in use calls every day. */
  silentDays?: number;
}

/** Days after which somebody is silent. */
export const usualSilentDays = 3;
/** s that entries may wait: runs are made every few minutes to once a day. */
const longWait = 1.5 * day;
/** s; a refusal in somebody's name by a token that is not theirs counts only if they themselves did not call. */
const strangersWait = day;
/** Entries set aside that break the chain: some wrong ones among thousands do not. */
const manySetAside = 10;

/** Where a person stands, by the figures kept of them: a pure function, in constant time. */
export function standOf(figures: PersonFigures, options: StandOptions): Stand {
  const chain = chainOf(figures);
  const broken = breakageOf(figures, chain, options);
  const [state, since] = stateOf(figures, chain, broken);
  const faults = figures.set_aside.reduce((sum, one) => sum + (one.reason === faultReason ? one.count : 0), 0);
  const waits = { waiting_s: waitingFor(figures, options.now), lag_s: lagOf(figures, options.now) };
  return { user: figures.user, state, since, chain, broken, figures, faults, ...waits };
}

function chainOf({ user, registered_ts, profile, tokens, state }: PersonFigures): Chain {
  const field = (name: string): number | null => {
    const value = profile[name];
    return typeof value === 'number' ? value : null;
  };
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

const newest = (...times: (number | null | undefined)[]): number | null =>
  times.reduce<number | null>((a, b) => (b == null ? a : Math.max(a ?? b, b)), null);

const broken = (link: LinkName, code: Breakage['code'], since: number | null): Breakage => ({ link, code, since });

/** The first link that does not hold. */
function breakageOf(figures: PersonFigures, chain: Chain, options: StandOptions): Breakage | null {
  if (figures.stage !== 'active') return broken('registered', 'unfinished', null);
  const { called, stored } = chain;
  // Of somebody whose data were imported no phone is expected.
  const isImported = called.ts === null && stored.ts !== null && figures.tokens.length === 0;
  const ofPhone = isImported ? null : (callsBreak(figures, chain, options) ?? putsBreak(figures, chain, options));
  // Who stopped is no trouble; what they sent before may be.
  if (ofPhone?.code === 'stopped') return runsBreak(figures, chain, options) ?? ofPhone;
  return ofPhone ?? runsBreak(figures, chain, options);
}

/** The time before which a link is too old. */
const longAgo = ({ now, silentDays = usualSilentDays }: StandOptions): number => now - silentDays * day;

function callsBreak(figures: PersonFigures, chain: Chain, options: StandOptions): Breakage | null {
  const { profile, tokens } = figures;
  const { registered, called, pushed, stored } = chain;
  const stopped = stoppedSince(tokens, options.now);
  if (stopped !== null) return broken('joined', 'stopped', stopped);
  const refused = Number(profile.last_refusal_ts ?? 0);
  const isOwn = profile.last_refusal_why !== 'unknown';
  if (refused > (pushed.ts ?? 0) && (isOwn || refused > (called.ts ?? 0) + strangersWait))
    return broken('called', 'refused', pushed.ts ?? called.ts ?? registered.ts);
  const refusals = tokens.map((token) => refusalOf(token, options.now)?.since);
  if (tokens.length > 0 && !refusals.includes(undefined)) return broken('joined', 'no_token', newest(...refusals));
  const heard = newest(called.ts, stored.ts);
  if (heard === null) return broken('called', 'never_called', registered.ts);
  return heard < longAgo(options) ? broken('called', 'silent', heard) : null;
}

function putsBreak({ user, profile }: PersonFigures, chain: Chain, options: StandOptions): Breakage | null {
  const { registered, pushed, stored, located } = chain;
  const long = longAgo(options);
  const began = newest(registered.ts, user.joined_ts)!;
  const limited = Number(profile.last_limit_ts ?? 0);
  if (limited > (pushed.ts ?? 0) && limited > options.now - day) return broken('pushed', 'limited', pushed.ts ?? began);
  const put = newest(pushed.ts, stored.ts) ?? began;
  if (put < long) return broken('pushed', 'no_put', put);
  if (pushed.ts === null) return null;
  if ((stored.ts ?? began) < long) return broken('stored', 'nothing_stored', stored.ts ?? began);
  if ((pushed.phone_ts ?? 0) > pushed.ts + believedAhead) return broken('stored', 'clock_ahead', pushed.ts);
  const since = located.ts ?? user.sent_ts ?? began;
  return since < long ? broken('located', 'no_location', since) : null;
}

function runsBreak(figures: PersonFigures, { converted }: Chain, options: StandOptions): Breakage | null {
  const { state, lease, waiting, set_aside } = figures;
  const { now } = options;
  const due = waiting.count > waiting.ahead || state.changed !== null || state.documents_due;
  if (state.last_error !== null) return broken('moved', 'run_failed', state.last_run_ts);
  if (lease !== null && lease.expires_ts <= now && due) return broken('moved', 'run_stopped', lease.expires_ts);
  const since = waitingSince(figures);
  if (due && since !== null && since < now - longWait) return broken('moved', 'not_run', since);
  const faults = set_aside.filter(({ reason }) => reason === faultReason);
  if (faults.length > 0) return broken('converted', 'program_fault', newest(...faults.map(({ last_ts }) => last_ts)));
  const recent = set_aside.filter(({ last_ts }) => last_ts >= longAgo(options));
  const lost = recent.filter(({ key }) => key !== null && affectsOf(key) === 'trips');
  if (lost.reduce((sum, { count }) => sum + count, 0) < manySetAside) return null;
  return broken('converted', 'set_aside', converted.ts ?? newest(...lost.map(({ last_ts }) => last_ts)));
}

/** Since when entries wait: since the first put after the last run. */
function waitingSince({ profile, state }: PersonFigures): number | null {
  const { waiting_since_ts: since } = profile;
  return typeof since === 'number' ? Math.max(since, state.last_run_ts ?? since) : null;
}

/** The state that a breakage means, and since when. */
function stateOf({ user }: PersonFigures, chain: Chain, broken: Breakage | null): [PersonState, number | null] {
  if (broken?.code === 'refused' || broken?.code === 'stopped') return [broken.code, broken.since];
  if (chain.stored.ts === null && user.sent_ts === undefined)
    return ['never_began', newest(chain.registered.ts, user.joined_ts)];
  if (broken === null) return ['in_order', null];
  return [stateBy[broken.code], broken.since];
}

const stateBy: Record<Breakage['code'], PersonState> = {
  ...{ stopped: 'stopped', refused: 'refused', no_token: 'refused', never_called: 'never_began', silent: 'silent' },
  ...{ limited: 'without_locations', no_put: 'without_locations', nothing_stored: 'without_locations' },
  ...{ clock_ahead: 'without_locations', no_location: 'without_locations' },
  ...{ run_failed: 'behind', run_stopped: 'behind', not_run: 'behind', program_fault: 'behind', set_aside: 'behind' },
  ...{ damaged: 'behind', unfinished: 'behind' },
};

/** Entries that a clock ahead of time wrote wait for their time, and delay nobody. */
function waitingFor(figures: PersonFigures, now: number): number | null {
  const since = waitingSince(figures);
  return figures.waiting.count > figures.waiting.ahead && since !== null ? Math.max(0, now - since) : null;
}

function lagOf(figures: PersonFigures, now: number): number | null {
  const pushed = figures.profile.waiting_since_ts;
  if (typeof pushed !== 'number' || pushed > now || pushed < now - day) return null;
  const { last_run_ts: ran } = figures.state;
  return waitingFor(figures, now) ?? (ran !== null && ran >= pushed ? ran - pushed : null);
}
