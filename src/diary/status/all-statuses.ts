// Where everybody stands, page by page; somebody with a damaged row stands at that.
import { isMobilityError } from '../../model/mobility-error.ts';
import { initialPipelineState } from '../../model/pipeline-state.ts';
import type { UserRecord } from '../../model/user.ts';
import type { Store } from '../../store/store.ts';
import { type Stand, type StandOptions, standOf } from './person-status.ts';

/** What is read of a store. */
export type StandStore = { users: Pick<Store['users'], 'figures' | 'list'> };

/** Users read at a time. */
const pageSize = 1000;

/** Where one person stands, of whose record the caller is sure. */
export async function standOfUser(store: StandStore, user: UserRecord, options: StandOptions): Promise<Stand> {
  try {
    const [figures] = await store.users.figures({ uuid: user.uuid });
    if (figures !== undefined) return standOf(figures, options);
  } catch (error) {
    if (!isMobilityError(error, 'MOBILITY_STORE_DAMAGED')) throw error;
    return { ...damagedStand(user, options), damage: error.message };
  }
  return damagedStand(user, options);
}

/** Where everybody stands, by UUID. */
export async function* everyStand(store: StandStore, options: StandOptions): AsyncGenerator<Stand, undefined> {
  for (let after = ''; ; ) {
    const which = { after, limit: pageSize };
    let stands: Stand[];
    try {
      stands = (await store.users.figures(which)).map((figures) => standOf(figures, options));
    } catch (error) {
      if (!isMobilityError(error, 'MOBILITY_STORE_DAMAGED')) throw error;
      stands = [];
      for (const user of await store.users.list(which)) stands.push(await standOfUser(store, user, options));
    }
    yield* stands;
    if (stands.length < pageSize) return;
    after = stands.at(-1)!.user.uuid;
  }
}

/** Where somebody stands of whom a row cannot be read: all that is known is their record. */
function damagedStand(user: UserRecord, options: StandOptions): Stand {
  const stand = standOf(
    {
      ...{ user, registered_ts: user.update_ts, audit_key: '', stage: 'active', profile: {}, tokens: [], lease: null },
      ...{ state: initialPipelineState, waiting: { count: 0, ahead: 0, next_due_ts: null }, set_aside: [] },
    },
    options,
  );
  return { ...stand, state: 'behind', since: null, broken: { link: 'registered', code: 'damaged', since: null } };
}
