// How many statements the MongoDB backend sends for a day of a user: each is a round trip to the server.
import type { Document } from 'mongodb';
import { expect, it } from 'vitest';
import { putBatch } from '../../../src/intake/put-batch.ts';
import { silentLog } from '../../../src/log/log.ts';
import { runPipeline } from '../../../src/pipeline/run-pipeline.ts';
import { mongoIndexes } from '../../../src/store/mongodb/layout.ts';
import { pushesOf } from '../../faults/kit.ts';
import { describeOnServers, newStoreOn } from '../../store/servers.ts';
import { useAll } from '../../store/support/use-all.ts';
import { newUser } from '../../support/store.ts';

/** What is sent, by command and collection: `find timeseries` and so on. */
function counted(commands: readonly Document[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const command of commands) {
    const [name] = Object.keys(command);
    const collection = name === 'getMore' ? command.collection : command[name!];
    const text = typeof collection === 'string' ? `${name} ${collection}` : name!;
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  return new Map([...counts].sort((a, b) => b[1] - a[1]));
}

/**
 * The maximum number of statements by kind of work; MOBILITY_PRINT_STATEMENTS=1 prints the present ones. One statement
 * of each run lists the transit feeds; a round over all users lists them once.
 */
const most = { firstPut: 12, put: 9, run: 34, nothingNew: 3, nextDay: 34 };

/** The collections and filters of commands. */
function filtersIn(commands: readonly Document[]): { name: string; filter: Document }[] {
  return commands.flatMap(({ find, findAndModify, aggregate, update, updates = [], deletes = [], ...command }) => {
    const filters: Document[] = [...updates, ...deletes].map(({ q }) => q);
    if (find ?? findAndModify) filters.push(command.filter ?? command.query);
    if (aggregate) filters.push(command.pipeline[0].$match);
    const name = find ?? findAndModify ?? aggregate ?? update ?? command.delete;
    return filters.map((filter) => ({ name, filter }));
  });
}

/** True if the filter bounds the first columns of an index: so many, or all that it has. */
const isIndexed = ({ name, filter }: ReturnType<typeof filtersIn>[number], columns: number): boolean =>
  mongoIndexes()[name]!.some(({ key }) => Object.keys(key).every((column, i) => i >= columns || column in filter));

describeOnServers('statements of MongoDB', (server) => {
  it('find their rows by an index, for a user with any history', async () => {
    const commands: Document[] = [];
    const { store } = await newStoreOn(server(), { onCommand: (command) => void commands.push(command) });
    commands.length = 0; // without the commands of the opening
    await useAll(store);
    // Of studies and feeds there are few.
    const small = ['about', 'studies', 'feeds', 'feed_parts'];
    const filters = filtersIn(commands).filter(({ name }) => !small.includes(name));
    expect(filters.length).toBeGreaterThan(150);
    expect(filters.filter((one) => !isIndexed(one, 1))).toEqual([]);
    const wide = filters.filter((one) => !isIndexed(one, 2));
    const names = wide.map(({ name, filter }) => [name, ...Object.keys(filter)].join(' '));
    // Without `_id`, which erasing names.
    expect([...new Set(names)].filter((name) => !name.endsWith(' _id')).sort()).toEqual([
      'batches user', // also the last one
      'batches user first_ts last_ts', // pending entries, by data time
      'chunks user', // counts and summaries, here and below
      'documents user',
      'errors user',
      'months user',
      'people study',
      'tokens user',
      'trips user',
      'trips user kind', // also the first and the last one
    ]);
  });

  it('are few for a day of a phone, and fewer for a run without new entries', async () => {
    const commands: Document[] = [];
    const expectFew = (name: keyof typeof most): void => {
      const found = counted(commands.splice(0));
      const sum = [...found.values()].reduce((a, b) => a + b, 0);
      if (process.env.MOBILITY_PRINT_STATEMENTS === '1') console.log(name, sum, found);
      expect(sum, JSON.stringify([...found])).toBeLessThanOrEqual(most[name]);
    };
    const { store } = await newStoreOn(server(), { onCommand: (command) => void commands.push(command) });
    const user = await newUser(store);
    const days = pushesOf('somebody', 'android', 3);
    const run = () => runPipeline(store, user, { log: silentLog, now: () => 1_800_000_000 });
    commands.length = 0;
    await putBatch(user, days[0]!, { store, now: () => 1 });
    expectFew('firstPut'); // also records when it came
    expect(await run()).toMatchObject({ status: 'done' });
    expectFew('run');
    expect(await run()).toMatchObject({ status: 'nothing_new' });
    expectFew('nothingNew');
    for (const day of days.slice(1)) {
      commands.length = 0;
      await putBatch(user, day, { store, now: () => 1 });
      expectFew('put');
      expect(await run()).toMatchObject({ status: 'done' });
    }
    expectFew('nextDay');
  });
});
