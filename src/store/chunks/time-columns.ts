// Times as bytes: as differences of whole milli- or microseconds where they are such, as doubles otherwise.
import type { ByteReader, ByteWriter } from './bytes.ts';

/** Nearly all times are whole milli- or microseconds: then differences are kept, which are small. */
const scales = [1e3, 1e6] as const;
const asDoubles = scales.length;

/** Writes differences: to the value before, or to that of `base` in the same place. A missing value breaks no scale. */
export function writeTimes(writer: ByteWriter, values: Float64Array, base: Float64Array | null): void {
  const scale = base !== null && values.includes(Number.NaN) ? asDoubles : scaleOf(values, base);
  writer.byte(scale);
  if (scale === asDoubles) {
    for (const value of values) writer.double(value);
    return;
  }
  const factor = scales[scale]!;
  let before = 0;
  for (let i = 0; i < values.length; i++) {
    const whole = Math.round(values[i]! * factor);
    writer.signed(whole - (base === null ? before : Math.round(base[i]! * factor)));
    before = whole;
  }
}

/** Reads what `writeTimes` wrote. */
export function readTimes(reader: ByteReader, count: number, base: Float64Array | null): Float64Array {
  const values = new Float64Array(count);
  const scale = reader.byte();
  const factor = scales[scale];
  let before = 0;
  for (let i = 0; i < count; i++) {
    if (factor === undefined) {
      values[i] = reader.double();
      continue;
    }
    before = reader.signed() + (base === null ? before : Math.round(base[i]! * factor));
    values[i] = before / factor;
  }
  return values;
}

/** The coarsest scale in which all values, and what they are told from, are whole numbers that doubles hold exactly. */
function scaleOf(values: Float64Array, base: Float64Array | null): number {
  const fits = (factor: number): boolean => {
    const isWhole = (value: number): boolean => {
      const whole = Math.round(value * factor);
      return Math.abs(whole) <= Number.MAX_SAFE_INTEGER / 4 && whole / factor === value && !Object.is(whole, -0);
    };
    const isNear = (value: number): boolean => Math.abs(value * factor) <= Number.MAX_SAFE_INTEGER / 4;
    return values.every(isWhole) && (base === null || base.every(isNear));
  };
  const found = scales.findIndex(fits);
  return found < 0 ? asDoubles : found;
}
