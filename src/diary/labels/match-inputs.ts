// To which trip or stay an input belongs: by its times, each to one, whatever came first.
import type { Input } from './input-keys.ts';

/** A trip or a stay; open ends are infinite. Spans of a kind do not overlap. */
export interface Span {
  start: number;
  end: number;
}

/**
 * s; a draft begins later than the trip that is made of it, or up to this much earlier, and may end this much later.
 */
const slack = 900;

/** s; how far an input with one open end is thought to reach where its overlap is measured. */
const openReach = 86_400;

/**
 * The span that an input belongs to; null when none: the trip whose draft it labelled turned out to be none. It is the
 * one in which the input begins, if it also ends there or covers most of it; else, of those that it fits at all, the
 * one with which it shares the most time, the one it begins in where they share the same. `spans` ascend.
 *
 * Beginning within a trip and ending soon after it is not enough where trips follow each other: a trip of another
 * analysis may begin some minutes before the same trip of ours, while the one before it still goes on.
 */
export function spanOf<Of extends Span>({ start, end }: Pick<Input, 'start' | 'end'>, spans: readonly Of[]): Of | null {
  const from = start ?? end! - openReach;
  const to = end ?? start! + openReach;
  const near = spans.slice(firstEndingAfter(spans, from), firstEndingAfter(spans, to) + 2);
  const home = near.find((span) => begins(span, start, end));
  if (home !== undefined && (end === null || end <= home.end || covers(home, from, to) > 0.5)) return home;
  let best: Of | null = home ?? null;
  for (const span of near) {
    const common = shared(span, from, to);
    const fits =
      covers(span, from, to) > 0.5 ||
      (common > 0.5 * (to - from) && common > 0) ||
      (from >= span.start - slack && from < span.start && common > 0);
    if (fits && (best === null || common > shared(best, from, to))) best = span;
  }
  return best;
}

/**
 * True when the input begins within the span. One without a start ends there; the first stay of all has no start
 * either.
 */
function begins(span: Span, start: number | null, end: number | null): boolean {
  if (start !== null) return start >= span.start && start < span.end;
  return end! > span.start && end! <= span.end + slack;
}

const shared = (span: Span, from: number, to: number): number =>
  Math.max(0, Math.min(span.end, to) - Math.max(span.start, from));

/** The share of the span that lies within the input; 0 of an endless one. */
function covers(span: Span, from: number, to: number): number {
  const length = span.end - span.start;
  return Number.isFinite(length) && length > 0 ? shared(span, from, to) / length : 0;
}

/** Index of the first span that ends after `ts`. */
function firstEndingAfter(spans: readonly Span[], ts: number): number {
  let low = 0;
  let high = spans.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (spans[middle]!.end > ts) high = middle;
    else low = middle + 1;
  }
  return low;
}
