export type Interval = { start: number; end: number }; // seconds since the epoch

export const lengthOf = ({ start, end }: Interval): number => end - start;

export const overlap = (a: Interval, b: Interval): number =>
  Math.max(0, Math.min(a.end, b.end) - Math.max(a.start, b.start));

/** 0 to 1: the common time divided by the time that either interval covers. */
export function intersectionOverUnion(a: Interval, b: Interval): number {
  const both = overlap(a, b);
  const either = lengthOf(a) + lengthOf(b) - both;
  return either > 0 ? both / either : 0;
}

export function coverOf(intervals: readonly Interval[]): Interval[] {
  const cover: Interval[] = [];
  for (const { start, end } of [...intervals].sort((a, b) => a.start - b.start)) {
    const last = cover.at(-1);
    if (last !== undefined && start <= last.end) last.end = Math.max(last.end, end);
    else cover.push({ start, end });
  }
  return cover;
}

export function coveredBy(interval: Interval, cover: readonly Interval[]): number {
  return cover.reduce((sum, part) => sum + overlap(interval, part), 0);
}

export function clipped(interval: Interval, window: Interval): Interval | null {
  const start = Math.max(interval.start, window.start);
  const end = Math.min(interval.end, window.end);
  return end > start ? { start, end } : null;
}
