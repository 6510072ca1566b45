// Corrections that anybody might state about an invented life.
import fc from 'fast-check';
import { correctionKinds } from '../../src/model/correction.ts';
import type { Entry } from '../../src/model/entry.ts';
import { statedModes } from '../../src/model/modes.ts';

export function correction(write_ts: number, data: Entry['data']): Entry {
  return { metadata: { key: 'manual/correction', platform: 'other', type: 'message', write_ts }, data };
}

/** s; some time in 1990. Corrections of times before that year are rejected on receipt. */
const earliest = 631_200_000;

const kinds = Object.keys(correctionKinds).filter((kind) => kind !== 'undo');

/**
 * Some corrections of the time of these entries, and the undoing of some of them, each with a different `write_ts`.
 */
export function correctionsOf(entries: readonly Entry[]): fc.Arbitrary<Entry[]> {
  const times = entries.map(({ data, metadata }) => (typeof data.ts === 'number' ? data.ts : metadata.write_ts));
  const at = fc.tuple(fc.nat(Math.max(0, times.length - 1)), fc.integer({ min: -1800, max: 1800 }));
  const one = fc.record({
    kind: fc.constantFrom(...kinds),
    at,
    seconds: fc.constantFrom(60, 600, 3600, 4 * 3600, 30 * 3600),
    mode: fc.constantFrom(...statedModes),
    rest: fc.record(
      {
        source: fc.constantFrom('android', 'ios', 'owntracks', 'other'),
        token_id: fc.constantFrom('of android', 'of ios'),
        seen: fc.constant([]),
        end_loc: fc.constant([13.4, 52.5]),
      },
      { requiredKeys: [] },
    ),
    undone: fc.boolean(),
  });
  return fc.array(one, { minLength: 1, maxLength: 7 }).map((list) =>
    list.flatMap(({ kind, at: [i, off], seconds, mode, rest, undone }, n) => {
      const ts = Math.max(earliest, (times[i] ?? 1_600_000_000) + off);
      const fields = { kind, ts, start_ts: ts, end_ts: ts + seconds, mode, name: `place ${n}` };
      const own = correctionKinds[kind as keyof typeof correctionKinds];
      const needed = Object.fromEntries(
        Object.entries(fields).filter(([name]) => name === 'kind' || own.includes(name)),
      );
      const write_ts = 3_900_000_000 + n; // after any clock of a life
      const stated = correction(write_ts, { ...needed, ...rest } as Entry['data']);
      return undone ? [stated, correction(write_ts + 100, { kind: 'undo', of: write_ts })] : [stated];
    }),
  );
}

/** The entries as pushed by phones with different tokens. */
export function withTokens(entries: readonly Entry[]): Entry[] {
  return entries.map(({ metadata, data }) => ({
    metadata: { ...metadata, token_id: `of ${metadata.platform}` },
    data,
  }));
}

export function undoing(corrections: readonly Entry[]): Entry[] {
  const stated = corrections.filter(({ data }) => data.kind !== 'undo');
  return stated.map(({ metadata }) => correction(metadata.write_ts + 1000, { kind: 'undo', of: metadata.write_ts }));
}
