// Texts that take their size on disk: the stores compress what repeats itself.
import { createHash } from 'node:crypto';

/** `length` characters that no compression makes much smaller, the same for the same seed. */
export function noise(seed: string, length: number): string {
  let text = '';
  for (let part = 0; text.length < length; part++) {
    text += createHash('sha512').update(`${seed} ${part}`).digest('base64');
  }
  return text.slice(0, length);
}
