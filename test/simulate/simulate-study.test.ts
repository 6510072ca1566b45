// `mobility simulate --study`: a study to try, with the problems that its managers should find.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { expect, it } from 'vitest';
import { keys } from '../../src/model/keys.ts';
import { everyUser } from '../../src/store/paging.ts';
import { freshProgram } from '../cli/kit.ts';
import type { Untyped } from '../support/untyped.ts';

const args = ['simulate', '--study', 'sunny', '--users', '5', '--days', '7'];

it('makes a study of one town, whose last four people have one problem each, and which the same command completes', async () => {
  const now = 1_720_000_000;
  const { folder, run, succeed, withStore } = await freshProgram();
  const made = (await succeed([...args, '--json'], { now })).json<Untyped>();
  expect(made.users.map((one: Untyped) => one.new > 0)).toEqual([true, true, true, true, false]);
  expect((await run(['pipeline', '--all'], { now })).code).toBe(0);
  const { users } = (await run(['users', 'list', '--study', 'sunny', '--json'], { now })).json<Untyped>();
  const states = users.map((one: Untyped) => `${one.user_email.replace(/\D/g, '')} ${one.state}`).sort();
  expect(states).toEqual(['1 in_order', '2 without_locations', '3 refused', '4 silent', '5 never_began']);

  await withStore(async (store) => {
    const keysOf = new Set<string>();
    for await (const { uuid } of everyUser(store)) {
      const page = await store.timeseries.find(uuid, { time: 'write_ts', limit: 100_000 });
      for (const { metadata, data } of page.entries) {
        keysOf.add(metadata.key);
        if (metadata.key === keys.filteredLocation) expect(Math.abs(Number(data.latitude) - 38.571)).toBeLessThan(0.2);
      }
    }
    expect([...keysOf]).toEqual(expect.arrayContaining([keys.modeConfirm, keys.purposeConfirm, keys.correction]));
  });

  const rowsOf = async (kind: string): Promise<Record<string, string>[]> => {
    const out = join(folder, kind);
    await succeed(['export', '--all', '--format', 'csv', '--kind', kind, '--out', out], { now });
    return parse(await readFile(join(out, `${kind}.csv`)), { columns: true });
  };
  const [people, trips, answers] = [await rowsOf('people'), await rowsOf('trips'), await rowsOf('answers')];
  // Accounts that joined by the link expire without data: the person who never began did not join by it.
  expect(people.map(({ joined_at }) => joined_at !== '')).toEqual(people.map(({ first_day }) => first_day !== ''));
  expect(new Set(answers.map(({ survey, question }) => `${survey} ${question}`))).toEqual(
    new Set(['UserProfileSurvey age_group', 'UserProfileSurvey household_bikes', 'TripConfirmSurvey on_time']),
  );
  const ages = answers.filter(({ question }) => question === 'age_group');
  expect(ages).toHaveLength(3); // one of three people answers nothing
  for (const { user_id } of ages) expect(trips.some((trip) => trip.user_id === user_id)).toBe(true);
  expect(answers.some(({ about_from }) => about_from !== '')).toBe(true);

  const again = (await run([...args, '--json'], { now })).json<{ users: { new: number }[] }>();
  expect(again.users.every((one) => one.new === 0)).toBe(true);
});
