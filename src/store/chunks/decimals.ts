// Columns of decimal numbers as whole numbers, such that each comes back digit by digit as it was written.
import { powersOfTen } from '../../model/decimal.ts';

/** How the numbers of a column are written. */
export interface DecimalForm {
  /** Digits behind the point of which the whole numbers hold all; of a text, at least `least`, more only as needed. */
  decimals: number;
  least: number;
  /** Digits before the point, at least; zeros lead where there are fewer. */
  pad: number;
}

/** Doubles hold whole numbers up to here, and the differences of two such. */
const largest = Number.MAX_SAFE_INTEGER / 4;

const mostDigits = 16;

const [minus, point, zero] = [0x2d, 0x2e, 0x30];

/** Scratch of `readDecimals`: digits behind the point of each value. */
let behind = new Uint8Array(1024);

/**
 * The numbers in the places `spots` (start and end of each, `stride` apart, from `first` on) as whole numbers in
 * `values`. null where any does not come back from them as it is written.
 */
export function readDecimals(
  bytes: Uint8Array,
  spots: Int32Array,
  first: number,
  stride: number,
  values: Float64Array,
): DecimalForm | null {
  const count = values.length;
  if (behind.length < count) behind = new Uint8Array(count);
  let [decimals, least, pad, mostWhole] = [0, mostDigits, mostDigits, 0];
  let leading = 0; // most digits before the point of those that begin with a zero
  let trailing = -1; // most digits behind the point of those that end with a zero
  for (let i = 0, spot = first; i < count; i += 1, spot += stride) {
    const end = spots[spot + 1]!;
    let at = spots[spot]!;
    const negative = bytes[at] === minus;
    if (negative) at += 1;
    const begin = at;
    let value = 0;
    let dot = -1;
    for (; at < end; at += 1) {
      const digit = bytes[at]! - zero;
      if (digit >= 0 && digit <= 9) value = value * 10 + digit;
      else if (bytes[at] === point && dot < 0) dot = at;
      else return null;
    }
    const whole = (dot < 0 ? end : dot) - begin;
    const fraction = dot < 0 ? 0 : end - dot - 1;
    if (whole === 0 || (dot >= 0 && fraction === 0) || whole + fraction > mostDigits) return null;
    if (negative && value === 0) return null;
    if (bytes[begin] === zero) leading = Math.max(leading, whole);
    if (fraction > 0 && bytes[end - 1] === zero) trailing = Math.max(trailing, fraction);
    decimals = Math.max(decimals, fraction);
    least = Math.min(least, fraction);
    pad = Math.min(pad, whole);
    mostWhole = Math.max(mostWhole, whole);
    values[i] = negative ? -value : value;
    behind[i] = fraction;
  }
  if (leading > pad || trailing > least) return null;
  for (let i = 0; i < count; i += 1) {
    values[i] = values[i]! * powersOfTen[decimals - behind[i]!]!;
    if (Math.abs(values[i]!) > largest) return null;
  }
  return { decimals, least, pad };
}

/** The most bytes that `writeDecimal` writes. */
export const longestDecimal = 40;

const digits = new Uint8Array(longestDecimal);

/** Writes the number whose whole number is `value` behind `at`; returns the place behind it. */
export function writeDecimal(bytes: Uint8Array, at: number, value: number, form: DecimalForm): number {
  const { decimals, least, pad } = form;
  let place = at;
  if (value < 0) bytes[place++] = minus;
  let rest = Math.abs(value);
  let count = 0; // digits, the last one first
  while (rest >= 1e9) {
    const upper = Math.floor(rest / 1e9);
    let lower = rest - upper * 1e9;
    for (let i = 0; i < 9; i += 1) {
      const tenth = (lower / 10) | 0;
      digits[count++] = lower - tenth * 10;
      lower = tenth;
    }
    rest = upper;
  }
  for (let lower = rest | 0; lower > 0; ) {
    const tenth = (lower / 10) | 0;
    digits[count++] = lower - tenth * 10;
    lower = tenth;
  }
  while (count < decimals + pad) digits[count++] = 0;
  let last = 0; // digits that are not written, as nothing follows them
  while (decimals - last > least && digits[last] === 0) last += 1;
  while (count > decimals) bytes[place++] = zero + digits[--count]!;
  if (last < decimals) {
    bytes[place++] = point;
    while (count > last) bytes[place++] = zero + digits[--count]!;
  }
  return place;
}
