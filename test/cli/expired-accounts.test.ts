// Accounts that a round of the pipeline removes because they never sent anything.
import { expect, it } from 'vitest';
import { studySettings } from '../support/study.ts';
import { freshProgram } from './kit.ts';

const study = studySettings({ config: { version: 1 }, subgroups: ['a'] });

it.each(['', '--workers 2'])('a round removes an account that sent nothing, and logs it (%s)', async (words) => {
  const { run, logs, withStore } = await freshProgram();
  const token = { hash: 'a'.repeat(64), created_ts: 1, expires_ts: null, kind: 'study' } as const;
  const joined = await withStore(async ({ studies }) => {
    await studies.put(study);
    return studies.enrol({ study: 'sunny', subgroup: 'a', email: 'sunny_a_1', token, now: 1 });
  });
  expect((await run(['pipeline', '--all', ...words.split(' ').filter(Boolean)])).code).toBe(0);
  const { uuid } = (joined as Extract<typeof joined, { enrolled: unknown }>).enrolled;
  expect(logs().match(new RegExp(`${uuid}.*account expired: joined study sunny`, 'g'))).toHaveLength(1);
});
