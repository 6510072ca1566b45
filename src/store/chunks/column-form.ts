// The form of columns of values: what writing and reading them agree on.
import { powersOfTen } from '../../model/decimal.ts';
import type { DecimalForm } from './decimals.ts';

/** The columns that a chunk has beside its texts: numbers that texts repeat are kept as these. */
export interface KnownTimes {
  write_ts: Float64Array;
  ts: Float64Array;
}

/** How the values of a column lie. */
export const layout = { same: 0, texts: 1, numbers: 2, differences: 3, fromWriteTs: 4, fromTs: 5 } as const;

/** Ends each value of a column of texts. JSON has it between its values only. */
export const endOfValue = 0x0a;

/** Powers of 256: what a byte of a number stands for, by its place. */
export const scalesOf256 = Array.from({ length: 8 }, (_, i) => 256 ** i);

/** A time as a whole number of a column's last digit. */
export const baseOf = (time: number, { decimals }: DecimalForm): number => Math.round(time * powersOfTen[decimals]!);
