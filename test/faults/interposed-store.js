/** The same store, with `interpose` before each call of its parts. */
export function interposedStore(store, interpose) {
  return new Proxy(store, {
    get: (target, part) => {
      const value = Reflect.get(target, part);
      if (typeof value === 'function') return interposed(part, value.bind(target), interpose);
      if (typeof value !== 'object' || value === null) return value;
      return new Proxy(value, {
        get: (inner, name) => {
          const method = Reflect.get(inner, name);
          return typeof method === 'function' ? interposed(`${part}.${name}`, method.bind(inner), interpose) : method;
        },
      });
    },
  });
}
function interposed(call, method, interpose) {
  return async (...args) => {
    await interpose(call);
    return method(...args);
  };
}
const writes = new Set([
  'usercache.put',
  'usercache.settle',
  'errors.takeBack',
  'timeseries.apply',
  'documents.put',
  'documents.remove',
  'trips.replace',
  'pipeline.merge',
  'leases.acquire',
  'leases.renew',
  'leases.release',
]);
/**
 * Dies before the write number `at` (from 0), and stays dead: no call after it has an effect. Between two writes nothing changes,
 * so these are all the places where a process can die and leave something else behind; a write itself is one transaction.
 */
export function dyingAt(at) {
  let count = 0;
  let dead = false;
  const interpose = (call) => {
    if (writes.has(call) && count++ === at) dead = true;
    if (dead) throw new Error(`died before ${call}`);
  };
  return Object.assign(interpose, { died: () => dead });
}
