import { isMobilityError } from '../../model/mobility-error.ts';
import type { UserRecord } from '../../model/user.ts';
import { emptyFigures } from '../../store/empty-figures.ts';
import type { Store } from '../../store/store.ts';
import { everyOf } from '../../util/parts-of.ts';
import { deriveStatus, type PersonStatus, type StatusOptions } from './person-status.ts';

export type StatusStore = { users: Pick<Store['users'], 'figures' | 'list'> };

const pageSize = 1000; // users read at a time

/** Reads a status. The state of a person with a damaged row is `behind`, with the code `damaged`. */
export async function readStatus(store: StatusStore, user: UserRecord, options: StatusOptions): Promise<PersonStatus> {
  try {
    const [figures] = await store.users.figures({ uuid: user.uuid });
    if (figures !== undefined) return deriveStatus(figures, options);
  } catch (error) {
    if (!isMobilityError(error, 'MOBILITY_STORE_DAMAGED')) throw error;
    return { ...damagedStatus(user, options), damage: error.message };
  }
  return damagedStatus(user, options);
}

/** The status of all people, or of the members of a study, in order of UUID. */
export function everyStatus(
  store: StatusStore,
  { study, ...options }: StatusOptions & { study?: string },
): AsyncGenerator<PersonStatus, undefined> {
  return everyOf(pageSize, async (last) => {
    const which = { after: last?.user.uuid ?? '', limit: pageSize, ...(study !== undefined && { study }) };
    try {
      return (await store.users.figures(which)).map((figures) => deriveStatus(figures, options));
    } catch (error) {
      if (!isMobilityError(error, 'MOBILITY_STORE_DAMAGED')) throw error;
      const statuses: PersonStatus[] = [];
      for (const user of await store.users.list(which)) statuses.push(await readStatus(store, user, options));
      return statuses;
    }
  });
}

function damagedStatus(user: UserRecord, options: StatusOptions): PersonStatus {
  const status = deriveStatus(emptyFigures(user), options);
  return { ...status, state: 'behind', since: null, broken: { link: 'registered', code: 'damaged', since: null } };
}
