import { randomInt } from 'node:crypto';
import type { AppId } from '../model/apps.ts';
import { newToken } from '../model/ids.ts';
import { joinNameOf, type StudyRecord } from '../model/study.ts';
import { tokenHash } from '../model/user.ts';
import type { Store } from '../store/store.ts';

/** For texts that people type: without characters that look alike, such as `l` and `1`. */
export const typedLetters = 'abcdefghjkmnpqrstuvwxyz23456789';

const allLetters = 'abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ';

export const randomText = (length: number, letters = allLetters): string =>
  Array.from({ length }, () => letters[randomInt(letters.length)]).join('');

/** Creates an account. `kind`: the app that uses the token; `'study'` means the e-mission app. */
export async function enrolMember(
  { studies }: Pick<Store, 'studies'>,
  study: StudyRecord,
  subgroup: string,
  kind: 'study' | AppId,
  clock: () => number,
) {
  const joinName = joinNameOf(study);
  for (;;) {
    const now = clock();
    const token = kind === 'study' ? `nrelop_${joinName}_${subgroup}_${randomText(32)}` : newToken();
    const email = `${study.name}_${subgroup}_${randomText(8, typedLetters)}`;
    const record = { hash: tokenHash(token), created_ts: now, expires_ts: null, kind };
    const result = await studies.enrol({ study: joinName, subgroup, email, token: record, now, byOperator: true });
    if (!('enrolled' in result)) continue; // the name is taken
    return { user_email: result.enrolled.user_email, uuid: result.enrolled.uuid, token };
  }
}
