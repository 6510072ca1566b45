// Where the test server of the MongoDB backend is installed, and why it is not; for tests and for the reporter.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const installed = fileURLToPath(new URL('../../.servers/installed.txt', import.meta.url));

/** The Python that has the test server. */
export const python = fileURLToPath(new URL('../../.servers/bin/python3', import.meta.url));

/** Why no server can be started here; null when one can. */
export function whyNoServer(): string | null {
  if (existsSync(installed) && existsSync(python)) return null;
  return 'no test server is installed: run `npm run test:servers`, or name servers in MOBILITY_TEST_MONGODB';
}

/** Part of the names of tests that were skipped for that reason. */
export const skippedMark = '(no server)';
