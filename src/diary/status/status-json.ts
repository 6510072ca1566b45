// Converts a person's status to JSON, without tokens and places.
import type { PersonStatus } from './person-status.ts';

/** Makes the JSON that commands print with `--json`. */
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
