// Closes a store: waits for running calls and refuses later ones.
import { MobilityError } from '../model/mobility-error.ts';

/** Guards one open store. `address` names it in errors. */
export function guardClosing(address: string) {
  let isOpen = true;
  let running = 0;
  let idle = (): void => {};
  const call = async (method: (...args: never[]) => Promise<unknown>, args: never[]): Promise<unknown> => {
    if (!isOpen) {
      const text = `expected an open store, found ${address} closed: open it again`;
      throw new MobilityError('MOBILITY_STORE_CLOSED', text);
    }
    running += 1;
    try {
      return await method(...args);
    } finally {
      running -= 1;
      if (running === 0) idle();
    }
  };
  return {
    /** The same methods, which reject with `MOBILITY_STORE_CLOSED` after `close`. */
    guard: <T extends object>(methods: T): T =>
      Object.fromEntries(
        Object.entries(methods).map(([name, method]) => [name, (...args: never[]) => call(method, args)]),
      ) as T,
    /** Refuses new calls; resolves when the running calls have ended. */
    close: async (): Promise<void> => {
      isOpen = false;
      if (running > 0) await new Promise<void>((resolve) => (idle = resolve));
    },
  };
}
