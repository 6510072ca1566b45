// Stores a list of similar JSON objects by columns. Compressed, these take half the bytes of the list.
//
// Objects with the same fields in the same order have one shape. A shape keeps the path of each
// field once and its values as a column. A column of numbers becomes whole numbers, stored as the
// differences between successive ones.
//
//     {"key":"a","at":{"lat":47.501}}   ->   paths    ["key"]      ["at","lat"]
//     {"key":"a","at":{"lat":47.503}}        columns  {"all":"a"}  {"decimals":3,"steps":[47501,2]}
import type { JsonObject, JsonValue } from '../model/json.ts';
import { isPlain, jsonText } from '../model/json-text.ts';

/**
 * The values of one field, in the first form that fits:
 * - `all`: the value that all rows have.
 * - `steps`: differences of the values times 10^`decimals`; older versions also stored `numbers`.
 * - a list with the value of each row.
 */
type Column =
  | JsonValue[]
  | { all: JsonValue }
  | { decimals: number; numbers: number[] }
  | { decimals: number; steps: number[] };

/** `rows`: the indexes of the objects in the list; missing if this is the only shape. */
interface Shape {
  paths: string[][];
  columns: Column[];
  count: number;
  rows?: number[];
}

/** Writes objects as columns. `listOf` restores them with their fields in the same order. */
export function columnsText(list: readonly JsonObject[]): string {
  const shapes = shapesOf(list);
  if (shapes === null) return jsonText(list as JsonValue);
  return JSON.stringify({ shapes: shapes.map((shape) => shapeOf(shape, shapes.length > 1)) });
}

/** Restores the objects. With `fields`, reads only columns whose path has such a name. */
export function listOf(text: string, fields?: ReadonlySet<string>): JsonObject[] {
  const value = JSON.parse(text) as JsonObject[] | { shapes: Shape[] };
  if (Array.isArray(value)) return value;
  const list: JsonObject[] = [];
  for (const { paths, columns, count, rows } of value.shapes) {
    const isNeeded = (_: unknown, i: number): boolean => !fields || paths[i]!.some((name) => fields.has(name));
    const lists = columns.filter(isNeeded).map((column) => valuesOf(column, count));
    const objects = objectsOf(fieldsOf(paths.filter(isNeeded), lists), count);
    if (rows === undefined) return objects;
    for (let i = 0; i < count; i++) list[rows[i]!] = objects[i]!;
  }
  return list;
}

interface Collected {
  paths: readonly Path[];
  values: JsonValue[][];
  rows: number[];
}

interface Path {
  id: number;
  names: string[];
  children: Map<string, Path>;
}

const deepest = 100; // nested objects

/** Groups the objects by shape; null: columns cannot hold a value exactly, such as -0. */
function shapesOf(list: readonly JsonObject[]): Collected[] | null {
  let count = 0;
  const pathTo = (names: string[]): Path => ({ id: count++, names, children: new Map() });
  const root = pathTo([]);
  const shapes = new Map<string, Collected>();
  let last: Collected | undefined;
  const paths: Path[] = [];
  const values: JsonValue[] = [];
  const walk = (object: JsonObject, path: Path): boolean => {
    if (path.names.length > deepest) return false;
    for (const name in object) {
      const value = object[name]!;
      if (value === undefined) continue;
      let child = path.children.get(name);
      if (child === undefined) {
        if (name === '__proto__') return false;
        child = pathTo([...path.names, name]);
        path.children.set(name, child);
      }
      if (isBranch(value)) {
        if (!walk(value, child)) return false;
      } else {
        if (!isPlain(value)) return false;
        paths.push(child);
        values.push(value);
      }
    }
    return true;
  };
  for (let row = 0; row < list.length; row++) {
    paths.length = 0;
    values.length = 0;
    if (!walk(list[row]!, root)) return null;
    // Most rows have the shape of the row before.
    if (last?.paths.length !== paths.length || !last.paths.every((path, i) => path === paths[i])) {
      const name = paths.map(({ id }) => id).join(' ');
      last = shapes.get(name) ?? { paths: [...paths], values: paths.map(() => []), rows: [] };
      shapes.set(name, last);
    }
    for (let i = 0; i < values.length; i++) last.values[i]!.push(values[i]!);
    last.rows.push(row);
  }
  return [...shapes.values()];
}

function isBranch(value: JsonValue): value is JsonObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  for (const _ in value) return true;
  return false;
}

function shapeOf({ paths, values, rows }: Collected, isOneOfSeveral: boolean): Shape {
  const names = paths.map((path) => path.names);
  return { paths: names, columns: values.map(columnOf), count: rows.length, ...(isOneOfSeveral && { rows }) };
}

// Characters. A longer text is not stored as `all`: the length of the stored text is an estimate of
// the memory that the restored objects take.
const longestRepeated = 100;
const mostDecimals = 7;
const powers = Array.from({ length: mostDecimals + 1 }, (_, decimals) => 10 ** decimals);

function columnOf(values: JsonValue[]): Column {
  const [one] = values;
  const isShort = typeof one === 'string' ? one.length <= longestRepeated : typeof one !== 'object' || one === null;
  if (isShort && values.every((value) => value === one)) return { all: one! };
  return stepsOf(values) ?? values;
}

/** Multiplies by the smallest power of ten that makes all values whole: 1.5, 2.25 -> 150, 225. */
function stepsOf(values: readonly JsonValue[]): Column | null {
  let decimals = 0;
  for (const value of values) {
    if (typeof value !== 'number') return null;
    while (Math.round(value * powers[decimals]!) / powers[decimals]! !== value) {
      decimals += 1;
      if (decimals > mostDecimals) return null;
    }
  }
  const power = powers[decimals]!;
  const numbers = values.map((value) => Math.round((value as number) * power));
  const largest = Number.MAX_SAFE_INTEGER / 2; // differences must be exact too
  const areExact = numbers.every((whole, row) => Math.abs(whole) <= largest && whole / power === values[row]);
  if (!areExact) return null;
  return { decimals, steps: numbers.map((whole, row) => whole - (numbers[row - 1] ?? 0)) };
}

function valuesOf(column: Column, count: number): JsonValue[] {
  if (Array.isArray(column)) return column;
  if ('all' in column) return new Array<JsonValue>(count).fill(column.all);
  const power = powers[column.decimals]!;
  if ('numbers' in column) return column.numbers.map((whole) => whole / power);
  let whole = 0;
  return column.steps.map((step) => {
    whole += step;
    return whole / power;
  });
}

type Fields = Map<string, readonly JsonValue[] | Fields>;

function fieldsOf(paths: readonly (readonly string[])[], columns: readonly JsonValue[][]): Fields {
  const root: Fields = new Map();
  for (const [i, path] of paths.entries()) {
    let fields = root;
    for (const name of path.slice(0, -1)) {
      const inner = (fields.get(name) ?? new Map()) as Fields;
      fields.set(name, inner);
      fields = inner;
    }
    fields.set(path.at(-1)!, columns[i]!);
  }
  return root;
}

function objectsOf(fields: Fields, count: number): JsonObject[] {
  const names = [...fields.keys()];
  const columns = [...fields.values()].map((part) => (part instanceof Map ? objectsOf(part, count) : part));
  const objects = new Array<JsonObject>(count);
  for (let row = 0; row < count; row++) {
    const object: JsonObject = {};
    for (let i = 0; i < names.length; i++) object[names[i]!] = columns[i]![row]!;
    objects[row] = object;
  }
  return objects;
}
