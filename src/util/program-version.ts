import { readFileSync } from 'node:fs';

/** package.json is two folders above both `src/util` and `dist/util`. */
export function packageVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
