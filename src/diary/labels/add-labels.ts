// Adds to trips in the shape that phones read what the user said about them. Stored documents hold none of it: it is
// added when asked.

import { withFields } from '../../model/with-fields.ts';
import type { TripFeatureCollection } from '../trip-features.ts';
import { saidFields } from './label-fields.ts';
import { type Labels, readLabels } from './load-labels.ts';
import { suggestionsReader, type TimedWay } from './load-suggestions.ts';
import type { LabelStore } from './read-inputs.ts';
import type { SuggestionSettings } from './suggest.ts';
import { suggestionFields } from './suggestion-fields.ts';

/**
 * The trips with `user_input` and `additions` in the properties of each and of its places; with `settings` also with
 * the labels that are suggested. `isBounded`: see `readInputs`.
 */
export async function withLabels(
  store: LabelStore,
  userId: string,
  trips: readonly TripFeatureCollection[],
  settings: SuggestionSettings | null = null,
  options: { isBounded?: boolean } = {},
): Promise<TripFeatureCollection[]> {
  if (trips.length === 0) return [];
  const times = trips.flatMap(placesOf).flatMap(({ enter_ts, exit_ts }) => [enter_ts, exit_ts]);
  const known = [...times, ...trips.flatMap(({ properties }) => [properties.start_ts, properties.end_ts])].filter(
    (ts) => typeof ts === 'number',
  );
  const isOpen = trips.some((trip) => placesOf(trip).some(({ exit_ts }) => exit_ts === undefined));
  const from = known.reduce((a, b) => Math.min(a, b));
  const to = isOpen ? Number.POSITIVE_INFINITY : known.reduce((a, b) => Math.max(a, b));
  const labels = await readLabels(store, userId, { from, to }, options);
  const told = trips.map((trip) => labelled(trip, labels, userId));
  if (settings === null) return told;
  const ways = trips.map(wayIn);
  const suggestions = await suggestionsReader(store, userId, settings)(ways, labels);
  return told.map((trip, i) => {
    const fields = suggestionFields(suggestions.of(ways[i]!, labels.ofTrip(ways[i]!.start_ts)), settings);
    return { ...trip, properties: withFields(trip.properties, fields) };
  });
}

function wayIn({ properties, features }: TripFeatureCollection): TimedWay {
  const { start_ts, end_ts, start_local_dt, start_loc, end_loc } = properties;
  return {
    start_ts,
    end_ts,
    start_zone: start_local_dt.timezone,
    start_loc: start_loc.coordinates,
    end_loc: end_loc.coordinates,
    sections: features.flatMap((feature) =>
      feature.type === 'FeatureCollection'
        ? feature.features.map((line) => line.properties as { sensed_mode: string; distance: number })
        : [],
    ),
  };
}

interface PlaceTimes {
  enter_ts?: number;
  exit_ts?: number;
}

function placesOf({ features }: TripFeatureCollection): PlaceTimes[] {
  return features.flatMap((feature) => (isPlace(feature) ? [feature.properties as PlaceTimes] : []));
}

type AnyFeature = TripFeatureCollection['features'][number];

const isPlace = (feature: AnyFeature): feature is AnyFeature & { type: 'Feature' } =>
  feature.type === 'Feature' && /^(start|end)_place$/.test(String(feature.properties?.feature_type));

function labelled(trip: TripFeatureCollection, labels: Labels, userId: string): TripFeatureCollection {
  return {
    ...trip,
    properties: withFields(trip.properties, saidFields(userId, labels.ofTrip(trip.properties.start_ts))),
    features: trip.features.map((feature) => {
      if (!isPlace(feature)) return feature;
      const { enter_ts = null, exit_ts = null } = feature.properties as PlaceTimes;
      const said = labels.ofStay(enter_ts, exit_ts);
      const isSilent = said.additions.length === 0 && Object.keys(said.user_input).length === 0;
      return isSilent
        ? feature
        : { ...feature, properties: withFields(feature.properties ?? {}, saidFields(userId, said)) };
    }),
  };
}
