// Walking through the register, page by page.
import type { UserRecord } from '../model/user.ts';
import type { Store } from '../store/store.ts';

const pageSize = 500;

/** Every registered user, by UUID. */
export async function* everyUser(store: Store): AsyncGenerator<UserRecord> {
  let after: string | undefined;
  for (;;) {
    const page = await store.users.list(after === undefined ? { limit: pageSize } : { after, limit: pageSize });
    yield* page;
    if (page.length < pageSize) return;
    after = page.at(-1)!.uuid;
  }
}
