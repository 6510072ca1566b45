import { quoted } from '../log/text.ts';
import { counted } from './output.ts';

/** The key of an error. A phone may send any text as a key, so characters that control a terminal are escaped. */
export function errorKeyText(key: string | null): string {
  if (key === null) return '(no key)';
  return key === '' ? '""' : quoted(key);
}

/** s of work: `0.42 s`, `12 s`. */
export function workTimeText(seconds: number): string {
  return `${seconds < 9.995 ? seconds.toFixed(2) : seconds.toFixed(0)} s`;
}

/** A text with times, and their zone below it. An empty text stays empty. */
export const withZone = (text: string, zone: string): string => (text === '' ? '' : `${text}\n\ntimes: ${zone}`);

/** A note that the next run, or this run, derives days again because the analysis changed, and how to preview that. */
export function outdatedText(people: number, days: number, run: 'next' | 'this'): string {
  const whose = `${counted(days, 'day')} of ${counted(people, 'person', 'people')}`;
  const before = run === 'this' ? '' : '; preview: `mobility rebuild --all --dry-run`';
  return `the analysis changed: ${run === 'this' ? run : 'the next'} run derives the trips of ${whose} again${before}`;
}
