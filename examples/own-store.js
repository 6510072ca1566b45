// A store is an interface: any object that keeps its promises can be used. This one counts the calls that the pipeline
// makes to another store.
//
//   node examples/own-store.js
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStore, putBatch, runPipeline, silentLog, simulateDay } from 'mobility';

/** A store that counts each call of a method as `part.method`. */
function counting(store, counts) {
  const counted = (part, name) =>
    new Proxy(part, {
      get(target, method) {
        const value = target[method];
        if (typeof value !== 'function') return value;
        return (...args) => {
          const call = `${name}.${String(method)}`;
          counts.set(call, (counts.get(call) ?? 0) + 1);
          return value.apply(target, args);
        };
      },
    });
  return new Proxy(store, {
    get(target, name) {
      const value = target[name];
      if (typeof value === 'function') return value.bind(target);
      return typeof value === 'object' && value !== null ? counted(value, name) : value;
    },
  });
}

const now = () => Date.now() / 1000;
const folder = await mkdtemp(join(tmpdir(), 'mobility-example-'));
const store = await openStore(folder);
try {
  const { user } = await store.users.register('ada@example.org', { now: now() });
  const entries = simulateDay({ platform: 'android', day: '2024-03-12', seed: 'ada' });
  await putBatch(user.uuid, entries, { store, now });

  for (const title of ['first run', 'second run, with nothing new']) {
    const counts = new Map();
    await runPipeline(counting(store, counts), user.uuid, { log: silentLog, now });
    console.log(title, Object.fromEntries([...counts].sort()));
  }
} finally {
  await store.close();
  await rm(folder, { recursive: true });
}
