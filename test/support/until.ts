// Waiting in a test for what it waits for, and for no time.
import { setTimeout as sleep } from 'node:timers/promises';
import { isFull } from './sample.ts';

/** Before the run ends the test (see vitest.config.ts), which would not say what the test waited for. */
const seconds = isFull ? 580 : 280;

/** Resolves when `condition` is true; fails shortly before the run would end the test. The clock may be a faked one. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + seconds * 1000;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`waited ${seconds} s in vain for: ${condition}`);
    await sleep(5);
  }
}
