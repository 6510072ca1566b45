import type { JsonObject } from '../../model/json.ts';
import { figureKeys } from '../../model/keys.ts';
import { isForPages } from '../../model/user.ts';
import { emptyFigures } from '../empty-figures.ts';
import type { Engine, Table } from '../rows/rows.ts';
import { objectIn } from '../rows/sums.ts';
import { type AccountRow, accounts, batches, errors, months, people, profiles, tokens } from '../rows/tables.ts';
import type { MemberMonth, PersonFigures, UserRegistry } from '../store.ts';
import { leaseIn, stateIn } from './accounts.ts';
import { addError } from './error-rows.ts';
import { pageQuery, tokenRecordOf, userOf } from './people.ts';
import { hasAny } from './usercache.ts';

/**
 * Runs six statements for any number of users. For several users the statements name their columns,
 * so that the engine checks no checksums except in `people`, which halves the time.
 */
export function figuresOf(engine: Engine, which: Parameters<UserRegistry['figures']>[0]): Promise<PersonFigures[]> {
  const query = 'uuid' in which ? { where: { uuid: which.uuid } } : pageQuery(which);
  return engine.read(async (rows) => {
    const found = (await rows.find(people, query)).map((row) => [row.uuid, emptyFigures(userOf(row))] as const);
    if (found.length === 0) return [];
    const figures = new Map<string, PersonFigures>(found);
    // Without a study, `found` has all users between its first and its last UUID.
    const isRange = !('study' in which);
    const where = { user: isRange ? { gte: found[0]![0], lte: found.at(-1)![0] } : { in: [...figures.keys()] } };
    const each = <Row extends { user: string }>(list: Row[], add: (to: PersonFigures, row: Row) => void): void => {
      for (const row of list) {
        const to = figures.get(row.user);
        if (to !== undefined) add(to, row);
      }
    };
    const read = <Row>(table: Table<Row>): Promise<Row[]> => {
      const query = { where } as never;
      if ('uuid' in which) return rows.find(table, query);
      return rows.find(table, query, Object.keys(table.columns) as (keyof Row & string)[]) as Promise<Row[]>;
    };
    each(await read(accounts), addAccount);
    each(await read(profiles), (to, row) => {
      to.profile = objectIn<typeof row, JsonObject>(profiles, row, 'profile');
    });
    each(await read(tokens), (to, row) => {
      const token = tokenRecordOf(row);
      if (!isForPages(token)) to.tokens.push(token);
    });
    each(await rows.find(batches, { where }, ['user', 'count', 'due_ts']), ({ waiting }, { count, due_ts }) => {
      waiting.count += count;
      if (due_ts === 0) return;
      waiting.ahead += count;
      waiting.next_due_ts = Math.min(waiting.next_due_ts ?? due_ts, due_ts);
    });
    each(await rows.find(errors, { where }, ['user', 'key', 'reason', 'last_ts']), (to, row) =>
      addError(to.set_aside, row),
    );
    return [...figures.values()];
  });
}

/** Runs four statements. Checks no checksums, which would take most of the time. */
export function monthsOf(engine: Engine, ...[page, month]: Parameters<UserRegistry['months']>): Promise<MemberMonth[]> {
  return engine.read(async (rows) => {
    const found = await rows.find(people, pageQuery(page), ['uuid', 'update_ts']);
    const where = { user: { in: found.map(({ uuid }) => uuid) } };
    const registered = await rows.find(accounts, { where }, ['user', 'registered_ts', 'audit_key', 'due', 'sum']);
    const account = new Map(registered.map((row) => [row.user, row]));
    const pending = new Map<string, { revision: string; isNew: boolean }>();
    for (const { user, id, waiting } of await rows.find(batches, { where }, ['user', 'id', 'waiting'])) {
      const { revision = '', isNew = false } = pending.get(user) ?? {};
      pending.set(user, { revision: `${revision} ${id}`, isNew: isNew || hasAny(figureKeys, waiting) });
    }
    const stored = await rows.find(months, { where: { ...where, month } }, ['user', 'month', 'figures']);
    const figures = new Map(stored.map((row) => [row.user, row]));
    return found.map(({ uuid: user_id, update_ts }) => {
      const { registered_ts = update_ts, audit_key = '', due = 1, sum = '' } = account.get(user_id) ?? {};
      const { revision = '', isNew = false } = pending.get(user_id) ?? {};
      const row = due === 0 && !isNew ? figures.get(user_id) : undefined;
      const kept = row === undefined ? null : objectIn<typeof row, JsonObject>(months, row, 'figures');
      return { user_id, registered_ts, audit_key, figures: kept, revision: sum + revision };
    });
  });
}

function addAccount(to: PersonFigures, row: AccountRow): void {
  to.registered_ts = row.registered_ts;
  to.audit_key = row.audit_key;
  to.stage = row.stage as PersonFigures['stage'];
  to.state = stateIn(row);
  to.lease = leaseIn(row);
}
