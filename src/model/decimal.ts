// A decimal number read from bytes, without a text of it.

/** 1, 10, 100 and so on, all of them exact. */
export const powersOfTen = Array.from({ length: 17 }, (_, i) => 10 ** i);

const [minus, point, zero] = [0x2d, 0x2e, 0x30];

/** Digits that doubles hold exactly, whatever they are. */
const exactDigits = 15;

/** The decimal number between two places as `JSON.parse` reads it, if it is a short one; null for anything else. */
export function readDecimal(bytes: Uint8Array, start: number, end: number): number | null {
  let at = start;
  const negative = bytes[at] === minus;
  if (negative) at += 1;
  const begin = at;
  if (end - begin > exactDigits + 1 || (bytes[begin] === zero && end > begin + 1 && bytes[begin + 1] !== point)) {
    return null;
  }
  let value = 0;
  let dot = -1;
  for (; at < end; at += 1) {
    const digit = bytes[at]! - zero;
    if (digit >= 0 && digit <= 9) value = value * 10 + digit;
    else if (bytes[at] === point && dot < 0) dot = at;
    else return null;
  }
  const decimals = dot < 0 ? 0 : end - dot - 1;
  const whole = end - begin - (dot < 0 ? 0 : decimals + 1);
  if (whole === 0 || (dot >= 0 && decimals === 0) || whole + decimals > exactDigits) return null;
  const number = value / powersOfTen[decimals]!;
  return negative ? -number : number;
}
