// Joining a study with a token that the app made: who is admitted, and what the operator sees of it.
import { randomBytes } from 'node:crypto';
import type { Log } from '../log/log.ts';
import { line } from '../log/messages.ts';
import { type EnrolResult, joinWindow, readStudyToken } from '../model/study.ts';
import { tokenHash, type UserRecord } from '../model/user.ts';
import type { Store } from '../store/store.ts';
import { WindowCounts } from '../util/rate-counts.ts';
import { forbidden, type Problem, tooManyCalls } from './problem.ts';

/** Where a call to join comes from. */
export interface JoinedFrom {
  /** The network of the caller, see `origin.ts`; null: it is not known. */
  origin: string | null;
  log: Log;
}

/**
 * People who may join from one network within an hour, at each process: a class behind one address joins at once, and a
 * stranger needs several networks to reach the 200 an hour of a study.
 */
const joinsPerOrigin = 30;

/**
 * Returns the function that makes the account of an app-made token that is new, and returns null for any other token.
 * It throws a `Problem` if the study does not admit its owner.
 */
export function studyJoins(store: Pick<Store, 'tokens' | 'studies'>, now: () => number) {
  const joins = new WindowCounts(joinWindow, now);
  return async function join(token: string, from: JoinedFrom): Promise<UserRecord | null> {
    const says = readStudyToken(token);
    const hash = tokenHash(token);
    if (says === null || (await store.tokens.byHash(hash)) !== null) return null;
    const { origin } = from;
    if (origin !== null && joins.of(origin) >= joinsPerOrigin)
      throw tooMany('from this network', joins.left(), 'joins_per_origin');
    if (origin !== null) joins.add(origin);
    const record = { hash, created_ts: now(), expires_ts: null, kind: 'study' as const };
    for (;;) {
      const email = `${says.study}_${says.subgroup}_${shortId()}`;
      const result = await store.studies.enrol({ ...says, email, token: record, now: now() });
      if ('known' in result) return result.known;
      if ('enrolled' in result) {
        report(result, from.log);
        return result.enrolled;
      }
      if (result.refused === 'name_taken') continue;
      if (origin !== null) joins.add(origin, -1);
      throw result.refused === 'hour_full'
        ? tooMany('this study', joinWindow, 'joins_per_hour')
        : forbidden(unknownToken);
    }
  };
}

const tooMany = (where: string, seconds: number, limit: string): Problem =>
  tooManyCalls(`too many people joined ${where} within the hour; try again later`, seconds, { limit });

const letters = 'abcdefghjkmnpqrstuvwxyz23456789'; // without characters that look alike

/** The end of the name of a person who joined a study; it reveals nothing about the token. */
const shortId = (): string => [...randomBytes(8)].map((byte) => letters[byte % letters.length]).join('');

/**
 * The same text for every refusal: it does not reveal which studies and subgroups exist. An open study shows itself by
 * admitting people, so that the answer may name a full hour: phones try again.
 */
export const unknownToken =
  'this token is not known, or its study admits no new members now; ask the operator for a new one';

type Enrolled = Extract<EnrolResult, { enrolled: UserRecord }>;

/** Logs a wave: the join that makes half of what the study admits in an hour, and the last. */
function report({ study, lastHour }: Enrolled, log: Log): void {
  if (lastHour !== Math.ceil(study.hour_limit / 2) && lastHour !== study.hour_limit) return;
  log.write('WARNING', line.manyJoined(study.name, lastHour, study.hour_limit));
}
