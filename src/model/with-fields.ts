/** Copies as `{ ...object, ...fields }` does, which takes ten times as long on Node 20. */
export function withFields<A extends object, F extends object>(object: A, fields: F): Omit<A, keyof F> & F {
  return Object.assign({}, object, fields);
}
