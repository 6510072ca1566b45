// Which single bit of some bytes is wrong, told by how far their CRC-32 is from what it was. Pure.

/** What one byte does to the register of a CRC-32 (reflected, polynomial 0xEDB88320). */
const steps = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

/**
 * The one bit, counted from the lowest of the first byte, whose flip changes the CRC-32 of `length` bytes by
 * `difference`; null if none does. A checksum is linear: what a flip does to it depends on its place alone.
 */
export function flippedBit(difference: number, length: number): number | null {
  const wanted = difference >>> 0;
  const effects = Uint32Array.from({ length: 8 }, (_, bit) => steps[1 << bit]!);
  for (let at = length - 1; at >= 0; at--) {
    for (let bit = 0; bit < 8; bit++) {
      const effect = effects[bit]!;
      if (effect === wanted) return 8 * at + bit;
      effects[bit] = (effect >>> 8) ^ steps[effect & 0xff]!;
    }
  }
  return null;
}
