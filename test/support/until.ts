// Waiting in a test for what it waits for, and for no time.
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Resolves when `condition` is true; fails after `seconds`, saying what it waited for. The clock may be a faked one.
 */
export async function until(condition: () => boolean | Promise<boolean>, seconds = 240): Promise<void> {
  const end = performance.now() + seconds * 1000;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`waited ${seconds} s in vain for: ${condition}`);
    await sleep(5);
  }
}
