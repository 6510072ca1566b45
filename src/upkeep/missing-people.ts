// Missing people are in the target of a copy, but not in the source. Either the source erased them
// after an earlier copy, or the target is the wrong store.
import { MobilityError } from '../model/mobility-error.ts';
import type { Engine } from '../store/rows/rows.ts';
import { arrivals, type PersonRow, people, profiles } from '../store/rows/tables.ts';
import { accountOf } from '../store/rules/accounts.ts';
import { ChunkCache } from '../store/rules/chunk-cache.ts';
import { erase } from '../store/rules/erase-rows.ts';
import { everyRow } from './every-row.ts';

const mostListed = 20; // people in a message

/** `merge` keeps missing people, `eraseMissing` erases them, otherwise the copy is refused. */
export type MissingOptions = { merge?: boolean; eraseMissing?: boolean; overwrite?: boolean; dryRun?: boolean };

/**
 * Counts missing people, and erases them if `eraseMissing` is set. Throws `MOBILITY_USER_EXISTS` if
 * no option allows them, or if a person to erase sent data directly to `to`.
 */
export async function settleMissing(from: Engine, to: Engine, options: MissingOptions): Promise<number> {
  const found: PersonRow[] = [];
  for await (const person of everyRow(to, people, 'uuid')) {
    if ((await from.read((rows) => rows.total(people, { uuid: person.uuid }))) === 0) found.push(person);
  }
  if (found.length === 0 || options.merge) return found.length;
  if (!options.eraseMissing) throw refusal(from, to, found, options);
  const live: PersonRow[] = [];
  for (const person of found) if (await hasSent(to, person.uuid)) live.push(person);
  if (live.length > 0) {
    const text = `expected to erase only people who were copied to ${to.address}, found ${live.length} who sent data to it: ${namesOf(live)}; nothing was changed: source and target may be swapped`;
    throw new MobilityError('MOBILITY_USER_EXISTS', text);
  }
  if (options.dryRun) return found.length;
  for (const { uuid } of found) await erase(to, new ChunkCache(), uuid);
  return found.length;
}

function refusal(from: Engine, to: Engine, found: readonly PersonRow[], { overwrite }: MissingOptions): MobilityError {
  const next = overwrite
    ? 'erase these people at this target with --erase-missing --yes'
    : 'name another target, erase these people at this target with --overwrite --erase-missing --yes';
  return new MobilityError(
    'MOBILITY_USER_EXISTS',
    `expected at ${to.address} only users whom ${from.address} has, found ${found.length}: ${namesOf(found)}; ` +
      `${next}, or keep them with --merge`,
  );
}

function namesOf(found: readonly PersonRow[]): string {
  const names = found.slice(0, mostListed).map(({ user_email, uuid }) => `${user_email} (${uuid})`);
  return [...names, ...(found.length > mostListed ? [`and ${found.length - mostListed} more`] : [])].join(', ');
}

/** True if a phone of the user sent data to this store, and not only to the source of the copy. */
async function hasSent(store: Engine, user: string): Promise<boolean> {
  return store.read(async (rows) => {
    const [arrival] = await rows.find(arrivals, { where: { user } });
    if (arrival === undefined) return (await accountOf(rows, user))?.sent === 1;
    const [row] = await rows.find(profiles, { where: { user } });
    const { last_put_ts: last = 0 } = JSON.parse(row?.profile ?? '{}') as { last_put_ts?: number };
    return last > arrival.arrived_ts;
  });
}
