// The evidence of transit feeds that a case carries, because its moved places are near no stop of the feeds.
//
//   leg of the day     07:58 to 08:21: bus 4.131, train -1; N of Muni .914 from Embarcadero to 4th and King
//   leg of the case    14 weeks before: bus 4.13, train -1; line 1 of agency 1 .914 from stop 1 to stop 2
import type { LegEvidence } from '../analysis/modes/leg-evidence.ts';
import type { TransitSource } from '../analysis/modes/transit-evidence.ts';
import type { TransitLine } from '../model/trip.ts';
import { noEvidence, type TransitEvidence } from '../transit/match-ride.ts';

/** The evidence for the leg between two times. */
export type CarriedEvidence = TransitEvidence & { start_ts: number; end_ts: number };

/** The evidence of `source`; adds it to `found`, by the times of the legs. */
export function recorded(source: TransitSource, found: Map<string, CarriedEvidence>): TransitSource {
  return (legs, track) => {
    const evidence = source(legs, track);
    for (const [i, { start, end }] of legs.entries())
      found.set(`${start} ${end}`, { start_ts: start, end_ts: end, ...evidence[i]! });
    return evidence;
  };
}

/** Gives each leg the evidence for the times that differ least from its own. */
export function carriedTransit(evidence: readonly CarriedEvidence[]): TransitSource {
  const forLeg = ({ start, end }: LegEvidence): TransitEvidence => {
    const off = ({ start_ts, end_ts }: CarriedEvidence): number => Math.abs(start_ts - start) + Math.abs(end_ts - end);
    const nearest = [...evidence].sort((a, b) => off(a) - off(b))[0];
    return nearest !== undefined && off(nearest) < (end - start) / 2 ? nearest : noEvidence;
  };
  return (legs) => legs.map(forLeg);
}

/** Gives each name of a kind another one, such as `stop 2`; the same name gets the same one. */
export class Aliases {
  readonly #names = new Map<string, string>();

  of(kind: 'feed' | 'agency' | 'line' | 'stop', name: string): string {
    const known = this.#names.get(`${kind} ${name}`);
    const alias = known ?? `${kind} ${[...this.#names.keys()].filter((key) => key.startsWith(`${kind} `)).length + 1}`;
    this.#names.set(`${kind} ${name}`, alias);
    return alias;
  }

  /** The alias of the line of a section; undefined: it has none. */
  ofLine(line: TransitLine | undefined): string | undefined {
    return line && this.of('line', line.route_short_name || line.route_long_name);
  }
}

/**
 * Evidence without names and dates. Figures are rounded, because exact ones would confirm a guess of the place, as
 * would the days between the ride and the dates of the feed.
 */
export function withoutNames({ start_ts, end_ts, ...given }: CarriedEvidence, aliases: Aliases, moved: number) {
  const lines = given.lines.map(({ kind, probability, feed, agency, short_name, long_name, from_stop, to_stop }) => {
    const line = aliases.of('line', short_name || long_name);
    return {
      kind,
      feed: aliases.of('feed', feed),
      agency: aliases.of('agency', agency),
      route_id: line,
      short_name: line,
      long_name: '',
      from_stop: aliases.of('stop', from_stop),
      to_stop: aliases.of('stop', to_stop),
      probability: rounded(probability, 1000),
      feed_age_days: 0,
    };
  });
  const [bus, train] = [rounded(given.bus, 100), rounded(given.train, 100)];
  return { start_ts: start_ts + moved, end_ts: end_ts + moved, bus, train, lines };
}

const rounded = (x: number, parts: number): number => Math.round(x * parts) / parts;
