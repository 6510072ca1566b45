import { randomNumbers } from '../util/random-numbers.ts';

export type Random = ReturnType<typeof seededRandom>;

/** The same seed gives the same numbers on every machine. Other seeds give unrelated numbers. */
export function seededRandom(...seed: readonly (string | number)[]) {
  const next = randomNumbers(hash(JSON.stringify(seed))); // 32 bits are enough for a day of one phone
  return {
    next,
    between: (low: number, high: number): number => low + (high - low) * next(),
    chance: (p: number): boolean => next() < p,
    pick: <T>(items: readonly T[]): T => items[Math.floor(next() * items.length)]!,
    normal: (deviation: number): number =>
      deviation * Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next()),
  };
}

/** FNV-1a over UTF-16 units */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  return value;
}
