import type { Entry } from '../model/entry.ts';
import { addDays } from '../model/time.ts';
import { senseAndroid } from './android-phone.ts';
import { senseIos } from './ios-phone.ts';
import { type DayOptions, planDay } from './plan-day.ts';

/** The day to simulate, and the phone that records it. */
export interface SimulateOptions extends DayOptions {
  platform: 'android' | 'ios';
}

/**
 * The entries of one day that a phone pushes, in the order of the pushes. They are invented, but
 * have the form, rhythm and errors of real entries. The same options give the same entries. A
 * working day has about five trips in three or four modes.
 */
export function simulateDay(options: SimulateOptions): Entry[] {
  const plan = planDay(options);
  return options.platform === 'android' ? senseAndroid(plan, options.seed) : senseIos(plan, options.seed);
}

/** `count` days of one phone, starting with `options.day`. One push per day. */
export function* simulateDays(options: SimulateOptions, count: number): Generator<Entry[]> {
  for (let i = 0; i < count; i++) yield simulateDay({ ...options, day: addDays(options.day, i) });
}
