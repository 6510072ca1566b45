// What the files of a store say about each other: who is registered, who may be written about, and whose rows there
// are.
import { isUuid } from '../../model/ids.ts';
import { unescapeText } from '../../model/json-text.ts';
import type { CheckTally } from '../check.ts';
import { eraseAgain, purgeRows, restoreFolder } from '../cures.ts';
import type { CheckedFile } from './check-rows.ts';
import { unlessTrouble } from './engine-errors.ts';
import type { StoreFile } from './file.ts';

/** Both files of a shard; null where one cannot be opened. */
export interface CheckedShard {
  usercache: CheckedFile | null;
  timeseries: CheckedFile | null;
}

/** Reports what does not fit between registry and shards. `shardOf`: the number of the shard of a user. */
export async function checkReferences(
  shards: readonly CheckedShard[],
  shardOf: (userId: string) => number,
  tally: CheckTally,
): Promise<void> {
  const registry = shards[0]?.usercache;
  const fromRegistry = async (sql: string): Promise<Set<string> | null> =>
    registry == null ? null : tally.attempt(registry.name, () => textsOf(registry.file, sql));
  const registered = await fromRegistry('SELECT uuid AS text FROM users');
  for (const [number, { usercache, timeseries }] of shards.entries()) {
    for (const checked of [usercache, timeseries]) {
      if (checked === null) continue;
      await tally.attempt(checked.name, async () => {
        await checkNumbers(checked, number, shardOf, tally);
        await checkCounters(checked, tally);
        if (registered === null) return;
        if (checked === usercache) await checkAdmitted(checked, { number, shardOf, registered }, tally);
        reportUnowned(checked, registered, tally);
      });
    }
  }
  if (registry == null || registered === null) return;
  const holders = await fromRegistry('SELECT DISTINCT user_id AS text FROM tokens');
  for (const userId of holders ?? []) {
    if (!registered.has(userId)) reportOne(registry, userId, 'tokens', tally);
  }
}

async function textsOf(file: StoreFile, sql: string): Promise<Set<string> | null> {
  const rows = await file
    .read(() => file.connection.prepare(sql).all<{ text: string }>())
    .catch((error) => unlessTrouble(error, file.path, null));
  return rows === null ? null : new Set(rows.map(({ text }) => unescapeText(String(text))));
}

/** The numbers of users: each a UUID that belongs to this shard. */
async function checkNumbers(
  { name, users }: CheckedFile,
  number: number,
  shardOf: (userId: string) => number,
  tally: CheckTally,
): Promise<void> {
  for (const [id, uuid] of users) {
    const what = !isUuid(uuid)
      ? `number ${id} stands for something that is no UUID`
      : shardOf(uuid) !== number
        ? `number ${id} stands for a user whose rows belong to shard ${shardOf(uuid)}`
        : null;
    if (what === null) continue;
    tally.find({
      code: 'WRONG_REFERENCE',
      file: name,
      table: 'user_ids',
      user_id: isUuid(uuid) ? uuid : null,
      what,
      cure: restoreFolder,
    });
  }
}

/** Counters never fall behind the numbers that they gave: a number given twice would mix up two revisions or leases. */
async function checkCounters({ file, name }: CheckedFile, tally: CheckTally): Promise<void> {
  for (const { counter, table, column } of [
    { counter: 'revision', table: 'waiting', column: 'revision' },
    { counter: 'revision', table: 'batches', column: 'id + size - 1' },
    { counter: 'fence', table: 'leases', column: 'fence' },
  ]) {
    const found = await file
      .read(() => {
        const there = file.connection.prepare('SELECT 1 FROM sqlite_schema WHERE name = ?').get(table) !== undefined;
        if (!there) return null;
        const most = file.connection
          .prepare(`SELECT max(${column}) AS most FROM ${table}`)
          .get<{ most: number | null }>();
        const sql = 'SELECT value FROM counters WHERE name = ?';
        return { most: most?.most ?? null, value: file.connection.prepare(sql).get<{ value: number }>(counter)?.value };
      })
      .catch((error) => unlessTrouble(error, file.path, null));
    if (found === null || found.most === null || (found.value ?? -1) >= found.most) continue;
    const what = `the counter ${counter} is at ${found.value}, and ${found.most} has been given`;
    tally.find({ code: 'WRONG_REFERENCE', file: name, table: 'counters', user_id: null, what, cure: restoreFolder });
  }
}

/** Who is registered may be written about, and nobody else, unless an erasure or a migration was interrupted. */
async function checkAdmitted(
  usercache: CheckedFile,
  {
    number,
    shardOf,
    registered,
  }: { number: number; shardOf: (userId: string) => number; registered: ReadonlySet<string> },
  tally: CheckTally,
): Promise<void> {
  const { file, name } = usercache;
  const admitted = await textsOf(file, 'SELECT uuid AS text FROM user_ids WHERE admitted = 1');
  // A store of a format before 7 does not say.
  if (admitted === null) return;
  for (const userId of registered) {
    if (shardOf(userId) !== number || admitted.has(userId)) continue;
    const what = 'registered, and may not be written about: an erasure that was interrupted';
    const cure = eraseAgain(userId);
    tally.find({ code: 'NOT_ADMITTED', file: name, table: 'user_ids', user_id: userId, what, cure });
  }
}

function reportUnowned({ name, users }: CheckedFile, registered: ReadonlySet<string>, tally: CheckTally): void {
  for (const uuid of users.values()) {
    if (!registered.has(uuid)) reportOne({ name }, uuid, 'user_ids', tally);
  }
}

function reportOne({ name }: Pick<CheckedFile, 'name'>, userId: string, table: string, tally: CheckTally): void {
  const what = 'rows whose owner is not registered';
  const cure = purgeRows;
  tally.find({ code: 'UNOWNED_ROWS', file: name, table, user_id: userId, what, cure });
}
