// A set whose members come and go, against a `Set`.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { LiveSet } from '../../src/server/live-set.ts';

it('has the members that were added and have not left', () => {
  const step = fc.oneof(fc.constant('add' as const), fc.nat(1000));
  fc.assert(
    fc.property(fc.array(step, { minLength: 20, maxLength: 60 }), (steps) => {
      const live = new LiveSet<number>();
      const known = new Set<number>();
      const leave: (() => void)[] = [];
      for (const [i, one] of steps.entries()) {
        if (one === 'add') {
          leave.push(live.add(i));
          known.add(i);
          const place = leave.length - 1;
          const gone = leave[place]!;
          leave[place] = () => {
            gone();
            known.delete(i);
          };
        } else leave[one % leave.length]?.(); // some leave more than once
        expect([...live].sort((a, b) => a - b)).toEqual([...known].sort((a, b) => a - b));
        expect(live.size).toBe(known.size);
      }
    }),
  );
});

it('lets members leave while somebody looks at them', () => {
  const live = new LiveSet<string>();
  const leave = new Map(['a', 'b', 'c'].map((name) => [name, live.add(name)]));
  const seen: string[] = [];
  for (const name of live) {
    seen.push(name);
    leave.get(name)!();
  }
  expect(seen).toEqual(['a', 'b', 'c']);
  expect(live.size).toBe(0);
});
