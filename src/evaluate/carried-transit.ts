// An evaluation case contains the evidence of transit feeds, because its locations are moved away
// from the stops of the feeds.
//
//   leg of the day    07:58 to 08:21: bus 4.131, train -1; N of Muni .914 from Embarcadero
//   leg of the case   14 weeks before: bus 4.13, train -1; line 3 of agency 2 .914 from stop 4
import type { LegEvidence } from '../analysis/modes/leg-evidence.ts';
import type { TransitSource } from '../analysis/modes/transit-evidence.ts';
import type { TransitLine } from '../model/trip.ts';
import { type LineFound, noEvidence, type TransitEvidence } from '../transit/match-ride.ts';

export type CarriedEvidence = TransitEvidence & { start_ts: number; end_ts: number };

export function recordEvidence(source: TransitSource, found: CarriedEvidence[]): TransitSource {
  return (legs, track) => {
    const evidence = source(legs, track);
    found.push(...legs.map(({ start, end }, i) => ({ start_ts: start, end_ts: end, ...evidence[i]! })));
    return evidence;
  };
}

export function carriedTransit(evidence: readonly CarriedEvidence[]): TransitSource {
  const forLeg = ({ start, end }: LegEvidence): TransitEvidence => {
    const off = ({ start_ts, end_ts }: CarriedEvidence): number => Math.abs(start_ts - start) + Math.abs(end_ts - end);
    const nearest = evidence.toSorted((a, b) => off(a) - off(b))[0];
    return nearest !== undefined && off(nearest) < (end - start) / 2 ? nearest : noEvidence;
  };
  return (legs) => legs.map(forLeg);
}

const kinds: Partial<Record<keyof LineFound, string>> = {
  feed: 'feed',
  agency: 'agency',
  route_id: 'line',
  short_name: 'line',
  long_name: 'line',
  from_stop: 'stop',
  to_stop: 'stop',
};

/** Equal names of a kind get the same alias. */
export class Aliases {
  readonly #names = new Map<string, string>();

  of(kind: string, name: string): string {
    if (name === '') return '';
    const key = `${kind} ${name}`;
    if (!this.#names.has(key)) this.#names.set(key, `${kind} ${this.#names.size + 1}`);
    return this.#names.get(key)!;
  }

  ofLine(line: TransitLine | undefined): string | undefined {
    return line && `${this.of('line', line.route_short_name)} ${this.of('line', line.route_long_name)}`;
  }
}

/** Hides exact figures, names and the age of the feed, which would confirm a guess of the place. */
export function withoutNames(given: CarriedEvidence, aliases: Aliases, moved: number): CarriedEvidence {
  const evidence = JSON.stringify(given, (key, value) => {
    const kind = kinds[key as keyof LineFound];
    if (key === 'feed_age_days') return 0;
    if (kind !== undefined) return aliases.of(kind, value);
    return typeof value === 'number' ? Math.round(value * 1000) / 1000 : value;
  });
  const { start_ts, end_ts } = given;
  return { ...(JSON.parse(evidence) as TransitEvidence), start_ts: start_ts + moved, end_ts: end_ts + moved };
}
