// Stores in which something happens between two reads of the same caller.
import type { Store } from '../../src/store/store.ts';

/** A store that does something before a place of it is asked the nth time for entries. */
export const interrupted = (
  store: Store,
  place: 'usercache' | 'timeseries',
  nth: number,
  act: () => Promise<unknown>,
): Store => {
  let calls = 0;
  const find: Store['usercache']['find'] = async (...query) => {
    calls += 1;
    if (calls === nth) await act();
    return store[place].find(...query);
  };
  const part = Object.create(store[place], { find: { value: find } });
  return Object.create(store, { [place]: { value: part } });
};
