import { withFields } from '../../model/with-fields.ts';
import type { TripFeatureCollection } from '../trip-features.ts';
import { inputFields, suggestionFields } from './label-fields.ts';
import { type Labels, readLabels } from './load-labels.ts';
import { suggestionsReader, type TimedTraitSource } from './load-suggestions.ts';
import type { LabelStore } from './read-inputs.ts';

export async function withLabels(
  store: LabelStore,
  userId: string,
  trips: readonly TripFeatureCollection[],
  { suggests = false, isBounded = false } = {},
): Promise<TripFeatureCollection[]> {
  if (trips.length === 0) return [];
  const times = trips.flatMap(placesOf).flatMap(({ enter_ts, exit_ts }) => [enter_ts, exit_ts]);
  const ends = trips.flatMap(({ properties }) => [properties.start_ts, properties.end_ts]);
  const known = [...times, ...ends].filter((ts) => typeof ts === 'number');
  const isOpen = trips.some((trip) => placesOf(trip).some(({ exit_ts }) => exit_ts === undefined));
  const from = known.reduce((a, b) => Math.min(a, b));
  const to = isOpen ? Infinity : known.reduce((a, b) => Math.max(a, b));
  const labels = await readLabels(store, userId, { from, to }, { isBounded });
  const labelledTrips = trips.map((trip) => labelled(trip, labels, userId));
  if (!suggests) return labelledTrips;
  const traits = trips.map(toTraitSource);
  const suggestionsOf = await suggestionsReader(store, userId)(traits, labels);
  return labelledTrips.map((trip, i) => {
    const fields = suggestionFields(suggestionsOf(traits[i]!, labels.ofTrip(traits[i]!.start_ts)));
    return { ...trip, properties: withFields(trip.properties, fields) };
  });
}

function toTraitSource({ properties, features }: TripFeatureCollection): TimedTraitSource {
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

type PlaceTimes = { enter_ts?: number; exit_ts?: number };

const placesOf = ({ features }: TripFeatureCollection): PlaceTimes[] =>
  features.filter(isPlace).map(({ properties }) => properties as PlaceTimes);

type AnyFeature = TripFeatureCollection['features'][number];

const isPlace = (feature: AnyFeature): feature is AnyFeature & { type: 'Feature' } =>
  feature.type === 'Feature' && /^(start|end)_place$/.test(String(feature.properties?.feature_type));

function labelled(trip: TripFeatureCollection, labels: Labels, userId: string): TripFeatureCollection {
  return {
    ...trip,
    properties: withFields(trip.properties, inputFields(userId, labels.ofTrip(trip.properties.start_ts))),
    features: trip.features.map((feature) => {
      if (!isPlace(feature)) return feature;
      const { enter_ts = null, exit_ts = null } = feature.properties as PlaceTimes;
      const input = labels.ofStay(enter_ts, exit_ts);
      if (input.additions.length === 0 && Object.keys(input.user_input).length === 0) return feature;
      return { ...feature, properties: withFields(feature.properties ?? {}, inputFields(userId, input)) };
    }),
  };
}
