// Lets people join a study with a token that their app made.
import { line } from '../log/messages.ts';
import { joinWindow, readStudyToken } from '../model/study.ts';
import { tokenHash, type UserRecord } from '../model/user.ts';
import type { Store } from '../store/store.ts';
import { randomText, typedLetters } from '../upkeep/enrol-member.ts';
import { WindowCounts } from '../util/rate-counts.ts';
import type { Call } from './call.ts';
import { forbidden, type Problem, tooManyCalls } from './problem.ts';

export type JoinCall = Pick<Call, 'network' | 'log'>;

// People who may join from one network within an hour, per process. A school class behind one
// address can join. An attacker needs several networks to reach the limit of a study, 200 an hour.
const joinsPerNetwork = 30;

/** The returned function creates the account for a new token of an app; null for other tokens. */
export function studyJoins(store: Pick<Store, 'tokens' | 'studies'>, now: () => number) {
  const joins = new WindowCounts(joinWindow, now);
  return async function join(token: string, { network, log }: JoinCall): Promise<UserRecord | null> {
    const claims = readStudyToken(token);
    const hash = tokenHash(token);
    if (claims === null || (await store.tokens.byHash(hash)) !== null) return null;
    if (network !== null && joins.of(network) >= joinsPerNetwork)
      throw tooMany('from this network', joins.left(), 'joins_per_origin');
    if (network !== null) joins.add(network);
    const record = { hash, created_ts: now(), expires_ts: null, kind: 'study' as const };
    for (;;) {
      // The random end of the name reveals nothing about the token.
      const email = `${claims.study}_${claims.subgroup}_${randomText(8, typedLetters)}`;
      const result = await store.studies.enrol({ ...claims, email, token: record, now: now() });
      if ('known' in result) return result.known;
      if ('enrolled' in result) {
        const { study, lastHour } = result;
        // The operator should see unusual numbers before the study refuses people.
        if ([Math.ceil(study.hour_limit / 2), study.hour_limit].includes(lastHour))
          log.write('WARNING', line.manyJoined(study.name, lastHour, study.hour_limit));
        return result.enrolled;
      }
      if (result.refused === 'name_taken') continue;
      if (network !== null) joins.add(network, -1);
      throw result.refused === 'hour_full'
        ? tooMany('this study', joinWindow, 'joins_per_hour')
        : forbidden(unknownToken);
    }
  };
}

const tooMany = (where: string, seconds: number, limit: string): Problem =>
  tooManyCalls(`too many people joined ${where} within the hour; try again later`, seconds, { limit });

/**
 * The message is the same for all reasons, so that it does not reveal which studies and subgroups
 * exist. Beyond the hourly limit of a study, the answer is a 429 instead, so that phones try again.
 */
export const unknownToken =
  'this token is not known, or its study admits no new members now; ask the operator for a new one';
