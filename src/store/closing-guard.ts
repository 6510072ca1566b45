// Closing a store: it waits for running calls and refuses later ones.
import { MobilityError } from '../model/mobility-error.ts';

/** One for each open store. */
export interface ClosingGuard {
  /** The same methods, which reject with `MOBILITY_STORE_CLOSED` once the door is closed. */
  guard<T extends object>(methods: T): T;
  /** Refuses new calls; resolves when the running calls have ended. */
  close(): Promise<void>;
}

/** An open door; `address` names the store in errors. */
export function guardClosing(address: string): ClosingGuard {
  let isOpen = true;
  let running = 0;
  let idle = (): void => {};
  const call = async (method: (...args: never[]) => Promise<unknown>, args: never[]): Promise<unknown> => {
    if (!isOpen) throw closedError(address);
    running += 1;
    try {
      return await method(...args);
    } finally {
      running -= 1;
      if (running === 0) idle();
    }
  };
  return {
    guard: <T extends object>(methods: T): T =>
      Object.fromEntries(
        Object.entries(methods).map(([name, method]) => [name, (...args: never[]) => call(method, args)]),
      ) as T,
    close: async () => {
      isOpen = false;
      if (running > 0) await new Promise<void>((resolve) => (idle = resolve));
    },
  };
}

function closedError(address: string): MobilityError {
  return new MobilityError('MOBILITY_STORE_CLOSED', `expected an open store, found ${address} closed: open it again`);
}
