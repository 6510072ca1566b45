// Closing a store: it waits for running calls, and refuses later ones.
import { MobilityError } from '../model/errors.ts';

/** One for each open store. */
export interface Door {
  /** The same methods, which reject with `MOBILITY_STORE_CLOSED` once the door is closed. */
  guard<T extends object>(methods: T): T;
  /** Refuses new calls; resolves when the running calls have ended. */
  close(): Promise<void>;
}

/** `explained` turns an error of a method into the error for its caller. */
export function doorOf(address: string, explained: (error: unknown) => unknown = (error) => error): Door {
  let open = true;
  let running = 0; // no set of them: what leaves one may stay in memory (server/live-set.ts)
  let idle = (): void => {};
  let closed: Promise<void> | undefined;
  // No `async` here: a function that waits would keep the arguments, a whole batch, until the call is done.
  const enter = (call: Promise<unknown>): Promise<unknown> => {
    const told = call.catch((error: unknown) => {
      throw explained(error);
    });
    running++;
    return told.finally(() => {
      running--;
      if (running === 0) idle();
    });
  };
  const guarded =
    (method: (...args: never[]) => Promise<unknown>) =>
    (...args: never[]): Promise<unknown> =>
      open ? enter(method(...args)) : Promise.reject(closedError(address));
  return {
    guard: <T extends object>(methods: T): T =>
      Object.fromEntries(Object.entries(methods).map(([name, method]) => [name, guarded(method)])) as T,
    close: () => {
      open = false;
      closed ??= new Promise((resolve) => {
        idle = resolve;
        if (running === 0) idle();
      });
      return closed;
    },
  };
}

function closedError(address: string): MobilityError {
  return new MobilityError('MOBILITY_STORE_CLOSED', `expected an open store, found ${address} closed: open it again`);
}
