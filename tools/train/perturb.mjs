// Copies of a recorded case as another phone, or the same phone in other conditions, would have recorded it. Training uses
// some of them, the leave-out table all. A copy depends only on the case and the name of the perturbation.
import { distance } from '../../dist/model/geo/distance.js';
import { motionTypes } from '../../dist/model/payloads.js';
import { seededRandom } from '../../dist/simulate/random.js';

const metresPerDegree = 111_195;

/** Moves a location so many metres east and north. */
const moved = (l, east, north) => ({
  ...l,
  latitude: l.latitude + north / metresPerDegree,
  longitude: l.longitude + east / (metresPerDegree * Math.cos((l.latitude * Math.PI) / 180)),
});

const every = (n) => (one) => ({ ...one, locations: one.locations.filter((_, i) => i % n === 0) });

/** Locations for which `keep(last, here)` is true; `last` is the last location that was kept. */
function kept(locations, keep) {
  let before = null;
  return locations.filter((here) => {
    if (before !== null && !keep(before, here)) return false;
    before = here;
    return true;
  });
}

const silentEvery = (seconds) => (one) => ({
  ...one,
  motions: [],
  locations: kept(one.locations, (a, b) => b.ts - a.ts >= seconds),
});

const later = (seconds) => (one) => ({ ...one, ts: one.ts + seconds });

/** By name: what the copy stands for, and the function that makes it. */
export const perturbations = {
  second: { text: 'every second location', of: every(2) },
  third: { text: 'every third location', of: every(3) },
  minute: {
    text: 'a location a minute at most',
    of: (one) => ({ ...one, locations: kept(one.locations, (a, b) => b.ts - a.ts >= 60) }),
  },
  gaps: {
    text: 'gaps of 5 to 10 minutes, one in 20 to 60 minutes',
    of: (one, random) => {
      let ts = one.locations[0]?.ts ?? 0;
      const gaps = [];
      while (ts < (one.locations.at(-1)?.ts ?? 0)) {
        ts += 1200 + 2400 * random.next();
        const end = ts + 300 + 300 * random.next();
        gaps.push({ start: ts, end });
        ts = end;
      }
      const locations = one.locations.filter((l) => !gaps.some(({ start, end }) => l.ts >= start && l.ts < end));
      return { ...one, locations };
    },
  },
  noise: {
    text: 'each location off by 0.7 of its accuracy (at most 42 m) on both axes',
    of: (one, random) => ({
      ...one,
      locations: one.locations.map((l) => {
        const metres = 0.7 * Math.min(l.accuracy || 20, 60);
        return moved(l, random.normal(metres), random.normal(metres));
      }),
    }),
  },
  jumps: {
    text: '3 % of the locations off by 2 km',
    of: (one, random) => ({
      ...one,
      locations: one.locations.map((l) => {
        if (random.next() >= 0.03) return l;
        const course = 2 * Math.PI * random.next();
        return moved(l, 2000 * Math.cos(course), 2000 * Math.sin(course));
      }),
    }),
  },
  late: {
    text: 'the first 3 minutes after each silence of 10 minutes lost',
    of: (one) => {
      let [from, before] = [0, Number.NEGATIVE_INFINITY];
      const locations = one.locations.filter(({ ts }) => {
        if (ts - before > 600) from = ts + 180;
        before = ts;
        return ts >= from;
      });
      return { ...one, locations };
    },
  },
  'fewer-readings': {
    text: 'half of the motion readings',
    of: (one, random) => ({ ...one, motions: one.motions.filter(() => random.next() < 0.5) }),
  },
  'wrong-readings': {
    text: 'a fifth of the motion readings is random',
    of: (one, random) => ({
      ...one,
      motions: one.motions.map((m) => (random.next() < 0.2 ? { ...m, type: Math.floor(5 * random.next()) } : m)),
    }),
  },
  sparse: { text: 'no motion readings', of: (one) => ({ ...one, motions: [] }) },
  'sparse-3min': { text: 'a location in 3 minutes at most, no motion readings', of: silentEvery(180) },
  'sparse-5min': { text: 'a location in 5 minutes at most, no motion readings', of: silentEvery(300) },
  'sparse-500m': {
    text: 'a location each 500 m, no motion readings',
    of: (one) => ({ ...one, motions: [], locations: kept(one.locations, (a, b) => distance(a, b) >= 500) }),
  },
  walked: {
    text: 'walking read while cycling, as iPhones do for more than half of the time',
    of: (one) => ({
      ...one,
      motions: one.motions.map((m) => (m.type === motionTypes.BICYCLING ? { ...m, type: motionTypes.WALKING } : m)),
    }),
  },
  events: {
    text: 'no transitions, but those after the last location',
    of: (one) => ({ ...one, events: one.events.filter(({ ts }) => ts > (one.locations.at(-1)?.ts ?? 0)) }),
  },
  shifted: {
    text: 'all times 7 s later',
    of: (one) => ({
      ...one,
      locations: one.locations.map(later(7)),
      motions: one.motions.map(later(7)),
      events: one.events.map(later(7)),
      truth: shiftedTruth(one.truth, 7),
    }),
  },
};

function shiftedTruth(truth, seconds) {
  const shifted = (part) => ({ ...part, start_ts: part.start_ts + seconds, end_ts: part.end_ts + seconds });
  const trips = truth.trips.map((trip) => ({ ...shifted(trip), sections: trip.sections.map(shifted) }));
  return { ...truth, range: shifted(truth.range), trips };
}

/** The perturbed copy of a case; the case itself if `name` is undefined or `none`. Throws for an unknown name. */
export function perturbed(one, name) {
  if (name === undefined || name === 'none') return one;
  const found = perturbations[name];
  if (!found) throw new Error(`expected one of ${Object.keys(perturbations).join(', ')}, found ${name}`);
  return found.of(one, seededRandom(name, one.name));
}
