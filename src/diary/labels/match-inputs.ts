// Finds the trip or stay of a user input by its times. The order of arrival has no effect.
//
//   trips      |---- A ----|      |------- B -------|
//   input 1     |--------|                               A: begins and ends in it
//   input 2               |--------------------|         B: shares more time with B
//   input 3                     |---|                    B: begins up to 15 min before it
//   input 4                  |-|                         no trip
import { firstIndex } from '../../model/first-index.ts';
import type { Input } from './input-keys.ts';

/** The time of a trip or a stay. Open ends are infinite. Spans of trips do not overlap, nor do spans of stays. */
export type Span = { start: number; end: number };

/** s; a labelled draft may begin this long before or after the final trip, or end after it */
export const slack = 900;

const openReach = 86_400; // s; assumed length of an input with one open end, to compute overlaps

/**
 * Finds the span of an input:
 * 1. the span in which the input begins, if it also ends there or covers more than half of it,
 * 2. otherwise, of the spans that match within `slack`, the span that shares the most time with the
 *    input; if two spans share the same time, the span in which the input begins.
 * null: no span matches, for example if a labelled draft did not become a trip. `spans` ascend.
 *
 * An input that begins in a trip and ends soon after it may be about the next trip, which began
 * some minutes earlier in the analysis that the app showed.
 */
export function findSpan<Of extends Span>(
  { start, end }: Pick<Input, 'start' | 'end'>,
  spans: readonly Of[],
): Of | null {
  const from = start ?? end! - openReach;
  const to = end ?? start! + openReach;
  const near = spans.slice(firstEndingAfter(spans, from), firstEndingAfter(spans, to) + 2);
  const first = near.find((span) => beginsWithin(span, start, end));
  if (first !== undefined && (end === null || end <= first.end || coverage(first, from, to) > 0.5)) return first;
  let best: Of | null = first ?? null;
  for (const span of near) {
    const common = shared(span, from, to);
    const fits =
      coverage(span, from, to) > 0.5 ||
      (common > 0.5 * (to - from) && common > 0) ||
      (from >= span.start - slack && from < span.start && common > 0);
    if (fits && (best === null || common > shared(best, from, to))) best = span;
  }
  return best;
}

/** An input with a start must begin within the span, an input without a start must end within it. */
function beginsWithin(span: Span, start: number | null, end: number | null): boolean {
  if (start !== null) return start >= span.start && start < span.end;
  return end! > span.start && end! <= span.end + slack;
}

const shared = (span: Span, from: number, to: number): number =>
  Math.max(0, Math.min(span.end, to) - Math.max(span.start, from));

function coverage(span: Span, from: number, to: number): number {
  const length = span.end - span.start;
  return Number.isFinite(length) && length > 0 ? shared(span, from, to) / length : 0;
}

const firstEndingAfter = (spans: readonly Span[], ts: number): number =>
  firstIndex(spans.length, (i) => spans[i]!.end > ts);
