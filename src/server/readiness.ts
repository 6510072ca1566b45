// Checks whether this server can store entries. It asks the store at most once per second, however many callers ask.
import type { Store } from '../store/store.ts';
import { shared } from './cached-result.ts';
import { Problem, retryAfterSeconds, unavailable } from './problem.ts';

const freshFor = 1_000; // ms that a result is used again
const patience = 10_000; // ms that the store may take to answer
const mebibyte = 1024 * 1024;

/**
 * Returns a function that resolves if the disk has space and the store did a small write and a small read within the
 * last second. `leastDiskMiB`: MiB that must be free on the disk; 0: not checked.
 */
export function readinessCheck(store: Pick<Store, 'ping' | 'disk'>, leastDiskMiB: number): () => Promise<void> {
  return shared(freshFor, () => inTime(check(store, leastDiskMiB)));
}

async function check(store: Pick<Store, 'ping' | 'disk'>, limit: number): Promise<void> {
  await store.ping();
  const { free } = limit === 0 ? { free: null } : await store.disk();
  if (free === null || free >= limit * mebibyte) return;
  const found = Math.floor(free / mebibyte);
  throw new Problem(503, `expected at least ${limit} free MiB on the disk of the store, found ${found}`, {
    headers: { 'Retry-After': String(retryAfterSeconds) },
    members: { check: 'disk_free_mib', limit, found },
  });
}

function inTime(checked: Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => {
    const late = () => reject(unavailable('the store does not answer', 'MOBILITY_STORE_BUSY'));
    const timer = setTimeout(late, patience);
    void checked.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
