// The version of this package, read from its package.json.
import { readFileSync } from 'node:fs';

/** `version` of package.json, two folders up both from `src/util` and from `dist/util`. */
export function packageVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
