// The fields that the pipeline reads of entries are all that the analysis goes by, however strange the entries are.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { sourceOf } from '../../src/analysis/choose-sources.ts';
import { eventIn, eventRead, locationIn, locationRead, motionIn, motionRead } from '../../src/analysis/observe.ts';
import { meaningOf } from '../../src/converters/convert.ts';
import type { Entry, Metadata } from '../../src/model/entry.ts';
import type { JsonObject } from '../../src/model/json.ts';
import { eventFields, locationFields, motionFields } from '../../src/pipeline/observed-fields.ts';
import type { EntryFields } from '../../src/store/store.ts';

const ts = 1_463_400_000;
const time = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: ts, max: ts + 20 }) },
  fc.constantFrom(-1e12, 1e300, 0),
);
const junk = fc.constantFrom<JsonObject[string]>(null, 'x', -1, 1e9, true, {}, [], Number.POSITIVE_INFINITY);
const optional = (of: fc.Arbitrary<JsonObject[string]>) =>
  fc.option(fc.oneof({ weight: 12, arbitrary: of }, junk), { nil: undefined });

/** An object with some of these fields, and others that nobody reads. */
const objectOf = (fields: Record<string, fc.Arbitrary<JsonObject[string]>>): fc.Arbitrary<JsonObject> =>
  fc
    .record({ ...Object.fromEntries(Object.entries(fields).map(([name, of]) => [name, optional(of)])), fmt_time: junk })
    .map(
      (object) => Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as JsonObject,
    );

const metadataOf = (keys: readonly string[]) =>
  fc
    .record({
      always: fc.record({
        ...{ key: fc.constantFrom(...keys), write_ts: time },
        platform: fc.constantFrom('android', 'ios', 'iOS', 'other', 'none'),
      }),
      more: objectOf({
        time_zone: fc.constantFrom('Europe/Berlin', 'America/Los_Angeles', 'nowhere'),
        filter: fc.constantFrom('time', 'distance'),
        origin: fc.constant({ program: 'tracker' }),
        write_fmt_time: fc.constant('then'),
      }),
    })
    .map(({ always, more }) => ({ ...more, ...always }) as unknown as Metadata);

const entriesOf = (keys: readonly string[], data: fc.Arbitrary<JsonObject>): fc.Arbitrary<Entry[]> =>
  fc.array(fc.record({ metadata: metadataOf(keys), data }), { minLength: 1, maxLength: 12 });

const degrees = fc.integer({ min: -90, max: 90 });
const small = fc.integer({ min: -1, max: 250 });
const location = objectOf({
  ...{ ts: time, latitude: degrees, longitude: degrees, altitude: small, accuracy: small, sensed_speed: small },
  ...{ filter: fc.constantFrom('time', 'distance'), bearing: small, heading: small, vaccuracy: small, floor: small },
  elapsedRealtimeNanos: small,
});

const flag = fc.boolean();
const code = fc.integer({ min: 0, max: 21 });
const motion = objectOf({
  ...{
    ts: time,
    type: code,
    confidence: fc.constantFrom('low', 'high', 50, 99),
    confidence_level: fc.constant('high'),
  },
  ...{ stationary: flag, walking: flag, running: flag, cycling: flag, automotive: flag, unknown: flag },
  ...{ agb: code, agc: small, zzaEg: code, zzaEh: small, zzbjA: code, zzbjB: small },
  ...{ ajO: code, ajP: small, zzaKM: code, zzaKN: small, zzbhB: code, zzbhC: small },
});

const transition = objectOf({
  ts: time,
  currState: fc.constantFrom('local.state.start', 'STATE_ONGOING_TRIP', 1, 2),
  curr_state: fc.constantFrom('local.state.ongoing_trip', 'STATE_START', 3),
  transition: fc.constantFrom('local.transition.exited_geofence', 'T_EXITED_GEOFENCE', 'booted', 4),
});

/** The entry as the store may give it: with all the fields, undefined where it does not have them. */
function partOf({ metadata, data }: Entry, fields: EntryFields): Entry {
  const pick = (object: object, names: readonly string[]) =>
    Object.fromEntries(names.map((name) => [name, Reflect.get(object, name)]));
  return {
    metadata: pick(metadata, fields.metadata) as unknown as Metadata,
    data: pick(data, fields.data) as JsonObject,
  };
}

it.each([
  {
    what: 'locations',
    fields: locationFields,
    entries: entriesOf(['background/location', 'background/filtered_location'], location),
    read: locationRead,
    observed: (entry: Entry) => [sourceOf(entry), locationIn(entry, sourceOf(entry))],
  },
  {
    what: 'motions',
    fields: motionFields,
    entries: entriesOf(['background/motion_activity', 'background/activity'], motion),
    read: motionRead,
    observed: motionIn,
  },
  {
    what: 'events',
    fields: eventFields,
    entries: entriesOf(['statemachine/transition'], transition),
    read: eventRead,
    observed: eventIn,
  },
])('$what are the same by the fields that are read as by whole entries', ({ fields, read, entries, observed }) => {
  fc.assert(
    fc.property(entries, (whole) => {
      const parts = whole.map((entry) => partOf(entry, fields));
      expect(parts.map((entry) => observed(meaningOf(entry, read)))).toEqual(
        whole.map((entry) => observed(meaningOf(entry))),
      );
    }),
    { numRuns: 300 },
  );
});
