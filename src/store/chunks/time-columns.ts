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
  for (let scale = 0; scale < scales.length; scale++) {
    if (areWhole(values, scales[scale]!) && (base === null || areNear(base, scales[scale]!))) return scale;
  }
  return asDoubles;
}

const farthest = Number.MAX_SAFE_INTEGER / 4;

function areWhole(values: Float64Array, factor: number): boolean {
  for (const value of values) {
    const whole = Math.round(value * factor);
    if (!(Math.abs(whole) <= farthest && whole / factor === value && !Object.is(whole, -0))) return false;
  }
  return true;
}

function areNear(values: Float64Array, factor: number): boolean {
  for (const value of values) if (!(Math.abs(value * factor) <= farthest)) return false;
  return true;
}
