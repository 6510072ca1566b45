// Reads a CSV table with a weight for each person. A column names the person by UUID, name or pseudonym.
import { parse } from 'csv-parse/sync';
import { usageError } from '../model/mobility-error.ts';
import { tableOptions } from './register-people.ts';

const naming = ['user_id', 'pseudonym', 'user_name', 'user_email'];

/** Weights by the name of the person. Throws `MOBILITY_USAGE` for a text without such columns or with a bad weight. */
export function readWeights(csv: string): Map<string, number> {
  const rows = parse<Record<string, string>>(csv, { ...tableOptions(csv), columns: true });
  const names = Object.keys(rows[0] ?? {});
  const column = naming.find((name) => names.includes(name));
  if (column === undefined || !names.includes('weight'))
    throw usageError(`expected columns weight and ${naming.join(' or ')}, found ${names.join(', ') || 'none'}`);
  return new Map(
    rows.map((row, i) => {
      const weight = Number(row.weight!.replace(',', '.'));
      if (row.weight === '' || !(weight >= 0 && weight < Infinity))
        throw usageError(`expected a weight of 0 or more in row ${i + 1}, found ${JSON.stringify(row.weight)}`);
      return [row[column]!, weight];
    }),
  );
}
