import { randomNumbers } from '../util/random-numbers.ts';

export interface Random {
  /** A number of at least 0 and below 1. */
  next(): number;
  between(low: number, high: number): number;
  /** True with probability `p`. */
  chance(p: number): boolean;
  pick<T>(items: readonly T[]): T;
  /** A number from the normal distribution around 0. */
  normal(deviation: number): number;
}

/** The same seed gives the same numbers on every machine. Other seeds give unrelated numbers. */
export function seededRandom(...seed: readonly (string | number)[]): Random {
  const next = randomNumbers(hash(JSON.stringify(seed))); // 32 bits are enough for a day of one phone
  return {
    next,
    between: (low, high) => low + (high - low) * next(),
    chance: (p) => next() < p,
    pick: (items) => items[Math.floor(next() * items.length)]!,
    normal: (deviation) => deviation * Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next()),
  };
}

/** The FNV-1a hash over UTF-16 units. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  return value;
}
