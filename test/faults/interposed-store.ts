// A store that calls a function before each of its calls: to push at that moment, or to die.
import type { Store } from '../../src/store/store.ts';
import { words } from '../support/words.ts';

/** Called before each call of the store, such as `usercache.move`. What it throws is what the caller sees. */
export type Interposer = (call: string) => Promise<void> | void;

/** The same store, with `interpose` before each call of its parts. */
export function interposedStore(store: Store, interpose: Interposer): Store {
  return new Proxy(store, {
    get: (target, part: keyof Store & string) => {
      const value: unknown = Reflect.get(target, part);
      if (typeof value === 'function') return interposed(part, value.bind(target), interpose);
      if (typeof value !== 'object' || value === null) return value;
      return new Proxy(value, {
        get: (inner, name: string) => {
          const method: unknown = Reflect.get(inner, name);
          return typeof method === 'function' ? interposed(`${part}.${name}`, method.bind(inner), interpose) : method;
        },
      });
    },
  });
}

function interposed(call: string, method: (...args: unknown[]) => unknown, interpose: Interposer) {
  return async (...args: unknown[]) => {
    await interpose(call);
    return method(...args);
  };
}

const writes = new Set(
  words(`
  erase users.register tokens.add tokens.revoke profiles.merge usercache.put usercache.move errors.recover
  errors.put documents.apply trips.apply pipeline.merge leases.acquire leases.renew leases.release
`),
);

/**
 * Dies before the write number `at` (from 0), and stays dead: no call after it has an effect. Between two writes
 * nothing changes, so these are all the places where a process can die and leave something else behind; a write itself
 * is one transaction.
 */
export function dyingAt(at: number): Interposer & { died(): boolean } {
  let count = 0;
  let dead = false;
  const interpose = (call: string): void => {
    if (writes.has(call) && count++ === at) dead = true;
    if (dead) throw new Error(`died before ${call}`);
  };
  return Object.assign(interpose, { died: () => dead });
}
