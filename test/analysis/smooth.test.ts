// Stage "smooth": which locations a jumping receiver made up.
import { describe, expect, it } from 'vitest';
import type { Location } from '../../src/analysis/observations.ts';
import { smooth } from '../../src/analysis/smooth.ts';
import { at, moving, since } from '../support/phone.ts';

const gone = (before: Location[], after: Location[]): number[] =>
  before.filter((location) => !after.includes(location)).map(({ ts }) => since(ts));

/** A walk of ten minutes with some noise in its speed. */
const walk = Array.from({ length: 21 }, (_, i) => at(i * 30, i * 40 + (i % 3) * 6, (i % 2) * 5));
const swap = (index: number, location: Location): Location[] =>
  walk.map((one, i) => (i === index ? { ...location, ts: one.ts } : one));

describe('smooth', () => {
  it('leaves a steady way alone, and never changes its input', () => {
    const copy = structuredClone(walk);
    expect(smooth(walk)).toEqual(walk);
    expect(walk).toEqual(copy);
  });

  it('takes a single jump aside out', () => {
    const jumped = swap(10, at(300, 400, 2500));
    expect(gone(jumped, smooth(jumped))).toEqual([300]);
  });

  it('takes a zigzag of several locations out: there and back', () => {
    const jumped = walk.map((one, i) => (i >= 8 && i <= 10 ? { ...one, ...at(since(one.ts), 3000 + i, 2500) } : one));
    expect(gone(jumped, smooth(jumped))).toEqual([240, 270, 300]);
  });

  it('takes a zigzag that flickers between two places out', () => {
    const jumped = walk.map((one, i) => (i === 8 || i === 10 ? { ...one, ...at(since(one.ts), 3000, 2500) } : one));
    expect(gone(jumped, smooth(jumped))).toEqual([240, 300]);
  });

  it('takes out a jump at the start, where the receiver remembers the place of yesterday', () => {
    const jumped = swap(0, at(0, -20_000));
    expect(gone(jumped, smooth(jumped))).toEqual([0]);
  });

  it('keeps a first step that is only somewhat fast: the receiver woke up late', () => {
    const late = swap(0, at(0, -150));
    expect(gone(late, smooth(late))).toEqual([]);
  });

  it('keeps the larger side of a jump that does not come back: a ride that nobody saw', () => {
    const ridden = walk.map((one, i) => (i > 10 ? { ...one, ...at(since(one.ts), 9000 + i * 40) } : one));
    expect(gone(ridden, smooth(ridden))).toEqual([]);
  });

  it('a way without any spread of speeds is not cut for the noise of a metre', () => {
    const even = moving({ from: 0, to: 600, speed: 1.3 });
    const nudged = even.map((one, i) => (i === 7 ? { ...one, ...at(since(one.ts), 210 * 1.3 + 20) } : one));
    expect(gone(nudged, smooth(nudged))).toEqual([]);
  });

  it('no location is faster than sound, not even where all jump', () => {
    const jumping = walk.map((one, i) => (i % 2 ? { ...one, ...at(since(one.ts), 50_000) } : one));
    const left = smooth(jumping);
    expect(left.length).toBeGreaterThan(0);
    expect(left.length).toBeLessThan(jumping.length);
  });

  it('the longest trip there can be, with ten thousand jumps, takes seconds', () => {
    const long = Array.from({ length: 100_000 }, (_, i) => at(i * 30, i * 40 + (i % 3) * 6, i % 10 === 9 ? 4000 : 0));
    expect(smooth(long)).toHaveLength(90_000);
  });

  it('three locations say too little to tell', () => {
    const few = [at(0, 0), at(30, 90_000), at(60, 0)];
    expect(smooth(few)).toEqual(few);
    expect(smooth([])).toEqual([]);
  });
});
