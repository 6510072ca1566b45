// Where people stand, in words: links, what broke one, and what mends it.

import { agoText, minuteText } from '../diary/number-text.ts';
import {
  type BrokenStep,
  breakages,
  type PersonState,
  type PersonStatus,
  type StepName,
} from '../diary/status/person-status.ts';
import { oneLine } from '../log/text.ts';
import { appIds } from '../model/apps.ts';
import { refusalOf } from '../model/user.ts';
import { counted } from './output.ts';

/** How a state is called. */
export const personStates: Record<PersonState, string> = {
  in_order: 'in order',
  silent: 'silent',
  without_locations: 'without locations',
  never_began: 'never began',
  refused: 'refused',
  behind: 'behind',
  stopped: 'stopped',
};

/** What is wrong, in a sentence, and what mends it: a command, or words for the person. */
export interface Cure {
  why: string;
  next: string;
}

/** The clock and the zone in which times are shown. */
export interface Shown {
  now: number;
  zone: string;
}

const phones = 'docs/phones.md';

/** What broke the chain, and what helps. */
export function cureOf(stand: PersonStatus, broken: BrokenStep, shown: Shown): Cure {
  const { user, figures, chain, damage, faults } = stand;
  const name = quotedName(user.user_email);
  const { profile, state, waiting, tokens } = figures;
  const why = breakages[broken.code];
  const app = appIds.find((one) => tokens.some(({ kind }) => kind === one));
  const token = `mobility users token ${name}${app === undefined ? '' : ` --app ${app}`} --qr`;
  switch (broken.code) {
    case 'damaged':
      return {
        why: damage ?? why,
        next: `restore a backup, or leave the row out: mobility store check --user ${name} --leave-out`,
      };
    case 'unfinished':
      return {
        why,
        next: figures.stage === 'erasing' ? `mobility erase --user ${name}` : 'repeat the `mobility migrate`',
      };
    case 'stopped':
      return { why, next: `nothing: it is their wish; to record again, if they ask for it: ${token}` };
    case 'no_token':
      return { why: `${why} The last one is refused since ${minuteText(broken.since ?? 0, shown.zone)}.`, next: token };
    case 'never_called':
      if (tokens.length === 0 && user.study === undefined) return { why: `${why} They have no token.`, next: token };
      return {
        why,
        next: `ask ${name} to install the app and to open their link; can phones reach the server? mobility doctor --url https://…`,
      };
    case 'refused': {
      const unknown = profile.last_refusal_why === 'unknown';
      const which = `${String(profile.last_refusal ?? 'a token')}, last tried ${agoText(Number(profile.last_refusal_ts), shown.now)}`;
      const advice = unknown ? `ask ${name} to type the token again, or give them a new one: ${token}` : token;
      return { why: `${why} It is ${which}.`, next: advice };
    }
    case 'silent':
      return {
        why,
        next: `ask ${name}: is the phone on, the app installed and signed in, is it allowed to work in the background? (${phones}) Nothing on the server mends it`,
      };
    case 'limited':
      return {
        why: `${why} The limit is ${String(profile.last_limit)}.`,
        next: 'it sends again by itself; docs/configuration.md has the limits',
      };
    case 'no_put':
      return {
        why: `${why} Its last call came ${when(chain.called.ts, shown)}.`,
        next: 'a proxy may refuse large bodies: mobility doctor --url https://…',
      };
    case 'nothing_stored':
      return {
        why: `${why} ${counted(setAsideOf(stand), 'entry is', 'entries are')} set aside.`,
        next: `mobility errors --user ${name}`,
      };
    case 'clock_ahead': {
      const due = waiting.next_due_ts;
      const from =
        due === null
          ? ''
          : ` The first of ${counted(waiting.ahead, 'entry', 'entries')} is due ${minuteText(due, shown.zone)}.`;
      return {
        why: `${why}${from}`,
        next: `ask ${name} to set date and time of the phone to automatic; no run can take what waits before`,
      };
    }
    case 'no_location':
      return {
        why: `${why} It calls, last ${when(chain.called.ts, shown)}.`,
        next: `ask ${name}: is location set to "always", the battery saver off, tracking on? (${phones}) Nothing on the server mends it`,
      };
    case 'run_failed':
      return { why: `${why} ${state.last_error}`, next: failedNext(state.last_error ?? '', name) };
    case 'run_stopped':
      return {
        why: `${why} It was ${figures.lease?.owner ?? 'another one'}.`,
        next: `the next run goes on: mobility pipeline --user ${name}`,
      };
    case 'not_run':
      return {
        why: `${why} ${counted(waiting.count - waiting.ahead, 'entry waits', 'entries wait')}.`,
        next: `does the pipeline run? mobility pipeline --user ${name}`,
      };
    case 'program_fault':
      return {
        why: `${why} ${counted(faults, 'entry', 'entries')}; nothing is lost.`,
        next: `mobility errors --user ${name} (after an update: mobility recover-errors --user ${name})`,
      };
    case 'set_aside': {
      const app = profile.client_app_version;
      const of = typeof app === 'string' ? ` The app is version ${oneLine(app)}: an old one may be the cause.` : '';
      return {
        why: `${why} ${counted(setAsideOf(stand), 'entry', 'entries')} in all.${of}`,
        next: `mobility errors --user ${name}`,
      };
    }
  }
}

/** A full disk is mended on the machine, and no run helps before. */
function failedNext(error: string, name: string): string {
  if (error.includes('MOBILITY_STORE_FULL'))
    return 'free space on the disk of the store; the next run goes on by itself';
  return `mobility pipeline --user ${name} --debug`;
}

/** Entries set aside, of whatever reason. */
const setAsideOf = ({ figures }: PersonStatus): number => figures.set_aside.reduce((sum, { count }) => sum + count, 0);

/** A name as a command line takes it. */
export const quotedName = (name: string): string =>
  /^[\w@.+-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`;

const when = (ts: number | null, { now, zone }: Shown): string =>
  ts === null ? 'never' : `${minuteText(ts, zone)} (${agoText(ts, now)})`;

/** A row of each link: its mark, name, time and what belongs to it. Links behind a broken one are not judged. */
export function chainRows(stand: PersonStatus, broken: BrokenStep | null, shown: Shown): string[][] {
  const { chain, user } = stand;
  const names = Object.keys(chain) as StepName[];
  const at = broken === null ? names.length : names.indexOf(broken.link);
  const facts = factsOf(stand, shown);
  return names.map((name, i) => {
    const { ts, phone_ts } = chain[name];
    const of = name === 'joined' && ts === null ? (user.study ?? 'no study; registered here') : null;
    const time = of ?? (ts === null && phone_ts != null ? '' : when(ts, shown));
    const phone = phone_ts == null ? '' : `by the phone's clock ${when(phone_ts, shown)}`;
    const isKnown = time !== 'never';
    const mark = i === at ? 'BROKEN' : i < at && isKnown ? 'ok' : '-';
    return [mark, name, [time, phone, facts[name] ?? ''].filter((text) => text !== '').join('; ')];
  });
}

/** What the figures say beside the times of links. */
function factsOf({ user, figures, chain }: PersonStatus, shown: Shown): Partial<Record<StepName, string>> {
  const { tokens, waiting, state, lease, profile } = figures;
  const app = profile.client_app_version;
  const isDraft = (state.complete_until ?? 0) < (state.observed?.seen.ts ?? 0);
  const good = tokens.filter((token) => refusalOf(token, shown.now) === null).length;
  return {
    ...(chain.joined.ts !== null && { joined: `study ${user.study}, ${user.subgroup}` }),
    ...(tokens.length > 0 && { called: `${good} of ${counted(tokens.length, 'token')} of phones good` }),
    ...(typeof app === 'string' && { pushed: `app ${app}` }),
    ...(waiting.count > 0 && { moved: `waiting ${waiting.count}, ${waiting.ahead} of them for a later time` }),
    ...(figures.set_aside.length > 0 && { converted: `set aside ${setAsideOf({ figures } as PersonStatus)}` }),
    ...(state.changed !== null && { analysed: `to analyse from ${minuteText(state.changed.from, shown.zone)} on` }),
    ...(isDraft && { final: 'what follows is a draft until the trip after it has ended: mobility explain' }),
    ...(lease !== null && { analysed: `at work: ${lease.owner}, until ${minuteText(lease.expires_ts, shown.zone)}` }),
  };
}

/** A stand for programs; no token, no place. */
export function standJson(stand: PersonStatus) {
  const { user, state, since, chain, broken, damage, faults, lag_s, figures } = stand;
  const { waiting, set_aside, lease, profile, tokens } = figures;
  const { last_error, last_run_ts, analysis_version } = figures.state;
  const of = (name: string) => profile[name] ?? null;
  return {
    ...user,
    ...{ state, since, broken, ...(damage && { damage }), chain, waiting, set_aside, faults, lag_s, lease },
    ...{ tokens: tokens.length, last_run_ts, last_error, analysis_version },
    ...{ limit_met: of('last_limit'), limit_met_ts: of('last_limit_ts') },
    ...{ refusal: of('last_refusal'), refusal_ts: of('last_refusal_ts') },
  };
}
