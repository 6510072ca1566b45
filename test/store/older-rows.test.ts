// Rows as older versions of the program stored them: chunks without facts, and trips with shorter outlines.
import { expect, it } from 'vitest';
import { everyDay } from '../../src/diary/read-days.ts';
import { simulateDays } from '../../src/simulate/simulate-day.ts';
import { splitFacts } from '../../src/store/chunks/chunk-facts.ts';
import { chunks, trips } from '../../src/store/rows/tables.ts';
import { storeOver } from '../../src/store/rules/build-store.ts';
import { openSqliteEngine } from '../../src/store/sqlite/sqlite-engine.ts';
import { tempFolder } from '../support/clean-up.ts';
import { chainOf, put, putAndRun } from '../support/diary.ts';
import { newUser } from '../support/store.ts';

const now = 4_000_000_000;

it('days, flags and trips are the same from rows of older versions', async () => {
  const engine = await openSqliteEngine(tempFolder());
  const store = storeOver(engine);
  const user = await newUser(store);
  const days = [...simulateDays({ platform: 'android', day: '2024-03-10', seed: 'old', zone: 'Europe/Berlin' }, 4)];
  await put(store, user, days.slice(0, 3).flat());
  await putAndRun(store, user, days[3]!.slice(0, days[3]!.length / 2)); // ends with an open trip or a stay
  const look = async () => {
    const shown = [];
    for await (const { observed, flagged, records } of everyDay(store, { uuid: user }, {}, now)) {
      if (shown.push({ observed, flagged, records }) === 10) break;
    }
    const links = await chainOf(store, user);
    const starts = links.map(({ chain_ts }) => chain_ts);
    return { shown, links, briefs: await store.trips.briefsAt(user, starts) };
  };
  const facts = () => store.timeseries.facts(user, { time: 'ts', keys: ['background/filtered_location'] });
  const before = await look();
  expect(await facts()).not.toBeNull();
  await engine.write(user, async (rows) => {
    for (const row of await rows.find(trips, { where: { user } }))
      await rows.put(trips, [{ ...row, outline: row.kind === 'trip' ? '{"sections":[]}' : null }]);
    for (const row of await rows.find(chunks, { where: { user } }))
      await rows.put(chunks, [{ ...row, entries: splitFacts(row.entries).packed }]);
  });
  expect(await facts()).toBeNull();
  expect(await look()).toEqual(before);
  await store.close();
});
