// A store that calls a function before each of its calls: to push at that moment, or to die.
import type { Store } from '../../src/store/store.ts';
import { words } from '../support/words.ts';

/** Called before each call of the store, such as `usercache.move`. What it throws is what the caller sees. */
export type Interposer = (call: string) => Promise<void> | void;

/** The same store, with `interpose` before each call of its parts. */
export function interposedStore(store: Store, interpose: Interposer): Store {
  const around = <Part extends object>(part: Part, prefix: string): Part =>
    new Proxy(part, {
      get: (target, name: string) => {
        const value: unknown = Reflect.get(target, name);
        if (typeof value === 'object' && value !== null) return around(value, `${name}.`);
        if (typeof value !== 'function') return value;
        return async (...args: unknown[]) => {
          await interpose(prefix + name);
          return value.apply(target, args);
        };
      },
    });
  return around(store, '');
}

/** The same store, with `act` before its nth call of a kind. */
export function beforeCall(store: Store, kind: string, nth: number, act: () => Promise<unknown>): Store {
  let calls = 0;
  return interposedStore(store, async (call) => {
    if (call === kind && ++calls === nth) await act();
  });
}

const writes = new Set(
  words(`
  erase users.register tokens.add tokens.revoke profiles.merge usercache.put usercache.move errors.recover
  errors.put documents.apply trips.apply pipeline.merge leases.acquire leases.renew leases.release
`),
);

/**
 * Dies before the write number `at` (from 0), and stays dead: no call after it has an effect. Between two writes
 * nothing changes, and a write is one transaction: so a process can leave something else behind at no other place.
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
