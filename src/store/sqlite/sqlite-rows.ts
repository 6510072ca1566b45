import { escapeText, unescapeText } from '../../model/json-text.ts';
import type { ColumnValue, Condition, Query, Table, Where, WritableRows } from '../rows/rows.ts';
import { expectSum, sumOf } from '../rows/sums.ts';
import type { Statement } from './driver.ts';
import { columnList } from './schema.ts';

export function rowsIn(sql: (text: string) => Statement): WritableRows {
  return {
    find: async <Row>(table: Table<Row>, query: Query<Row>, columns?: readonly string[]): Promise<Row[]> => {
      if (Object.values<Condition | undefined>(query.where).some(isEmptyList)) return [];
      const names = columns ?? Object.keys(table.columns);
      const isWhole = columns === undefined;
      const { where, values } = conditionsOf(table, query.where);
      const order = query.order === undefined ? '' : ` ORDER BY ${query.order.map(orderOf).join(', ')}`;
      const limit = query.limit === undefined ? '' : ' LIMIT ?';
      if (query.limit !== undefined) values.push(query.limit);
      const read = columnList(isWhole ? [...names, 'sum'] : names);
      const found = sql(`SELECT ${read} FROM ${table.name}${where}${order}${limit}`).all<ColumnValue[]>(...values);
      return found.map((cells) => {
        const row = rowOf<Row>(names, cells);
        if (isWhole) expectSum(table, row, cells[names.length]);
        return row;
      });
    },
    total: async (table, where, column) => {
      const { where: text, values } = conditionsOf(table, where);
      const what = column === undefined ? 'count(*)' : `coalesce(sum("${column}"), 0)`;
      return sql(`SELECT ${what} FROM ${table.name}${text}`).get<[number]>(...values)![0];
    },
    put: async (table, rows) => {
      const names = Object.keys(table.columns) as (keyof (typeof rows)[number] & string)[];
      const insert = sql(insertInto(table.name, [...names, 'sum'], table.key));
      return rows.map((row) => {
        const sum = sumOf(table, row);
        insert.run(...names.map((name) => bindable(row[name] as ColumnValue)), sum);
        return sum;
      });
    },
    remove: async (table, where, limit) => {
      const { where: text, values } = conditionsOf(table, where);
      if (limit === undefined) return sql(`DELETE FROM ${table.name}${text}`).run(...values).changes;
      const some = `SELECT rowid FROM ${table.name}${text} LIMIT ?`;
      return sql(`DELETE FROM ${table.name} WHERE rowid IN (${some})`).run(...values, limit).changes;
    },
  } as WritableRows;
}

function insertInto(table: string, columns: readonly string[], key: readonly string[]): string {
  const updates = columns
    .filter((column) => !key.includes(column))
    .map((column) => `"${column}" = excluded."${column}"`);
  return (
    `INSERT INTO ${table} (${columnList(columns)}) VALUES (${columns.map(() => '?').join(', ')}) ` +
    `ON CONFLICT (${columnList(key)}) DO UPDATE SET ${updates.join(', ')}`
  );
}

function rowOf<Row>(names: readonly string[], cells: readonly ColumnValue[]): Row {
  const row: Record<string, ColumnValue> = {};
  for (let i = 0; i < names.length; i += 1) {
    const value = cells[i]!;
    row[names[i]!] = typeof value === 'string' ? unescapeText(value) : value;
  }
  return row as Row;
}

const orderOf = (column: string): string => (column.startsWith('-') ? `"${column.slice(1)}" DESC` : `"${column}"`);

/**
 * Escapes NUL and half surrogate pairs, which SQLite cannot hold. The binding would store positive
 * numbers below 2^-52 as 0. So they become texts, which a REAL column converts to the same numbers.
 */
function bindable(value: ColumnValue): ColumnValue {
  if (typeof value === 'string') return escapeText(value);
  return typeof value === 'number' && value > 0 && value < 2 ** -52 ? String(value) : value;
}

const isEmptyList = (one?: Condition): boolean =>
  typeof one === 'object' && one !== null && 'in' in one && one.in.length === 0;

const operators = { gt: '>', gte: '>=', lt: '<', lte: '<=' } as const;

function conditionsOf<Row>(table: Table<Row>, where: Where<Row>): { where: string; values: ColumnValue[] } {
  const texts: string[] = [];
  const values: ColumnValue[] = [];
  for (const [column, condition] of Object.entries(where) as [string, Condition | undefined][]) {
    if (condition === undefined) continue;
    if (!(column in table.columns)) throw new TypeError(`expected a column of ${table.name}, found ${column}`);
    if (condition === null) texts.push(`"${column}" IS NULL`);
    else if (typeof condition !== 'object' || condition instanceof Uint8Array) {
      texts.push(`"${column}" = ?`);
      values.push(bindable(condition));
    } else if ('in' in condition) texts.push(isIn(column, condition.in, values));
    else {
      for (const [name, operator] of Object.entries(operators)) {
        const bound = condition[name as keyof typeof operators];
        if (bound === undefined) continue;
        texts.push(`"${column}" ${operator} ?`);
        values.push(bindable(bound));
      }
    }
  }
  return { where: texts.length === 0 ? '' : ` WHERE ${texts.join(' AND ')}`, values };
}

/** Makes each number a parameter, because SQLite may read numbers in JSON differently. */
function isIn(column: string, list: readonly (string | number)[], values: ColumnValue[]): string {
  if (list.length === 0) return 'FALSE';
  if (list.length === 1) {
    // With `IN` instead of `=`, SQLite would use an index only up to this column.
    values.push(bindable(list[0]!));
    return `"${column}" = ?`;
  }
  if (typeof list[0] === 'string') {
    values.push(JSON.stringify(list.map((text) => escapeText(text as string))));
    return `"${column}" IN (SELECT value FROM json_each(?))`;
  }
  // Repeats the last value until their number is a power of two: few different statements result.
  const places = 2 ** Math.ceil(Math.log2(list.length));
  for (let i = 0; i < places; i++) values.push(bindable(list[Math.min(i, list.length - 1)]!));
  return `"${column}" IN (${new Array(places).fill('?').join(', ')})`;
}
