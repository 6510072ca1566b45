// Measures test files: each adds a line `<CPU seconds, with child processes> <name>` to the file MOBILITY_TEST_CPU.
import { appendFileSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { afterAll, expect } from 'vitest';

const target = process.env.MOBILITY_TEST_CPU;
// Of the process, which several test files may share.
const before = globalThis as typeof globalThis & { cpuOfFilesBefore?: number };

/** Seconds of this process and of its children that have ended, as Linux counts them. */
function cpuSeconds(): number {
  const fields = readFileSync('/proc/self/stat', 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / 100;
}

if (target !== undefined)
  afterAll(() => {
    const now = cpuSeconds();
    const seconds = (now - (before.cpuOfFilesBefore ?? 0)).toFixed(1);
    before.cpuOfFilesBefore = now;
    appendFileSync(target, `${seconds} ${relative(process.cwd(), expect.getState().testPath!)}\n`);
  });
