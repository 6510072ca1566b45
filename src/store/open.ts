// Only this file imports both engines.
import { folderIn, isMongoAddress, withoutCredentials } from '../model/address.ts';
import { MobilityError } from '../model/mobility-error.ts';
import type { Engine, OpenOptions } from './rows/rows.ts';
import { storeOver } from './rules/build-store.ts';
import type { Store } from './store.ts';

export type { OpenOptions } from './rows/rows.ts';

/**
 * Opens the store at `address`: `sqlite:FOLDER`, a plain folder, or `mongodb://…`. Creates it if it
 * does not exist. The caller must close it. Throws `MOBILITY_STORE_ADDRESS` for other addresses,
 * `MOBILITY_STORE_VERSION` for a store of another format, and `MOBILITY_STORE_READONLY`,
 * `_DAMAGED`, `_UNAVAILABLE` or `MOBILITY_UNSUPPORTED` if the engine cannot use it.
 *
 *     const store = await openStore('sqlite:./data');
 *     const { user } = await store.users.register('ada', { now: Date.now() / 1000 });
 *     await store.close();
 */
export async function openStore(address: string, options: OpenOptions = {}): Promise<Store> {
  return storeOver(await openEngine(address, options));
}

async function openEngine(address: string, options: OpenOptions): Promise<Engine> {
  if (isMongoAddress(address)) {
    const { openMongoEngine } = await import('./mongodb/mongodb-engine.ts');
    return openMongoEngine(address, options);
  }
  const { openSqliteEngine } = await import('./sqlite/sqlite-engine.ts');
  return openSqliteEngine(folderOf(address), options);
}

function folderOf(address: string): string {
  const folder = folderIn(address);
  // `C:` may be a drive. Two or more letters before the colon name another kind of store.
  const otherScheme = /^[A-Za-z][A-Za-z0-9+.-]+:/.test(folder);
  const usable = folder !== '' && !otherScheme && !folder.includes('\0') && !/^\/\/[^/]/.test(folder);
  if (usable) return folder;
  throw new MobilityError(
    'MOBILITY_STORE_ADDRESS',
    `expected sqlite:FOLDER, a plain folder, or mongodb://HOST/DATABASE as the address of a store, found ${JSON.stringify(withoutCredentials(address))}`,
  );
}

/** Runs `work` on the rows of a store, without its rules: for checks and copies of whole stores. */
export async function onEngine<T>(
  address: string,
  options: OpenOptions,
  work: (engine: Engine) => Promise<T>,
): Promise<T> {
  const engine = await openEngine(address, options);
  return work(engine).finally(() => engine.close());
}
