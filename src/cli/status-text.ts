import { minuteText } from '../diary/number-text.ts';
import type { PersonState, StepName } from '../diary/status/breakages.ts';
import type { BrokenStep, PersonStatus } from '../diary/status/person-status.ts';
import { countRejected, type Shown, timeAndAge } from '../diary/status/remedies.ts';
import { refusalOf } from '../model/user.ts';
import type { Lease } from '../store/store.ts';
import { isDead } from '../upkeep/check-installation.ts';
import { counted } from './output.ts';

export const personStates: Record<PersonState, string> = {
  in_order: 'in order',
  silent: 'silent',
  without_locations: 'without locations',
  never_began: 'never began',
  refused: 'refused',
  unusable: 'nothing usable',
  behind: 'behind',
  stopped: 'stopped',
};

/** Returns a row for each step: `ok`, `BROKEN` or `-`, then name, and time with details. */
export function stepRows(status: PersonStatus, broken: BrokenStep | null, shown: Shown): string[][] {
  const { chain, user } = status;
  const names = Object.keys(chain) as StepName[];
  const at = broken === null ? names.length : names.indexOf(broken.link);
  const facts = factsOf(status, shown);
  return names.map((name, i) => {
    const { ts, phone_ts } = chain[name];
    const of = name === 'joined' && ts === null ? (user.study ?? 'registered without a study') : null;
    const time = of ?? (ts === null && phone_ts != null ? '' : timeAndAge(ts, shown));
    const phone = phone_ts == null ? '' : `by the phone's clock ${timeAndAge(phone_ts, shown)}`;
    const isKnown = time !== 'never';
    const mark = i === at ? 'BROKEN' : i < at && isKnown ? 'ok' : '-';
    return [mark, name, [time, phone, facts[name] ?? ''].filter((text) => text !== '').join('; ')];
  });
}

function factsOf({ user, figures, chain }: PersonStatus, shown: Shown): Partial<Record<StepName, string>> {
  const { tokens, waiting, state, lease, profile } = figures;
  const app = profile.client_app_version;
  const isDraft = (state.complete_until ?? 0) < (state.observed?.seen.ts ?? 0);
  const good = tokens.filter((token) => refusalOf(token, shown.now) === null).length;
  return {
    ...(chain.joined.ts !== null && { joined: `study ${user.study}, ${user.subgroup}` }),
    ...(tokens.length > 0 && { called: `${good} of ${counted(tokens.length, 'token')} of phones valid` }),
    ...(typeof app === 'string' && { pushed: `app ${app}` }),
    ...(waiting.count > 0 && { moved: `pending ${waiting.count}, ${waiting.ahead} of them for a later time` }),
    ...(figures.set_aside.length > 0 && { converted: `rejected ${countRejected(figures)}` }),
    ...(state.changed !== null && { analysed: `to analyse from ${minuteText(state.changed.from, shown.zone)} on` }),
    ...(isDraft && { final: 'later parts are a draft until the next trip has ended: mobility explain' }),
    ...(lease !== null && { analysed: leaseWords(lease, shown.zone).join(': ') }),
  };
}

/** Returns `at work` or `killed`, and details: the lease of a killed process lasts until it expires. */
export function leaseWords(lease: Pick<Lease, 'owner' | 'expires_ts'>, zone: string): [string, string] {
  const until = minuteText(lease.expires_ts, zone);
  if (isDead(lease)) return ['killed', `${lease.owner}; the first run after ${until} continues`];
  return ['at work', `${lease.owner}, until ${until}`];
}

/** Contains no tokens and no places. */
export function toStatusJson(status: PersonStatus) {
  const { user, state, since, chain, broken, damage, faults, lag_s, figures } = status;
  const { waiting, set_aside, lease, profile, tokens } = figures;
  const { last_error, last_run_ts, analysis_version } = figures.state;
  return {
    ...user,
    state,
    since,
    broken,
    ...(damage && { damage }),
    chain,
    waiting,
    set_aside,
    faults,
    lag_s,
    lease,
    tokens: tokens.length,
    last_run_ts,
    last_error,
    analysis_version,
    limit_met: profile.last_limit ?? null,
    limit_met_ts: profile.last_limit_ts ?? null,
    refusal: profile.last_refusal ?? null,
    refusal_ts: profile.last_refusal_ts ?? null,
  };
}
