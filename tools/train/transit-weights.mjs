// Fits the weights of the evidence of transit feeds (`transitWeights` in src/analysis/modes/mode-crf.ts):
// node tools/train/transit-weights.mjs CASES FEED.zip... [--draws N]
//
// The rides are those of recorded days around the feeds, and simulated ones along bus lines of the feeds: buses from stop
// to stop, and cars that follow the line, in free flow and in jams. For each pair of weights it prints the mean -ln p of
// the true mode by kind of ride, the share whose true mode is the likeliest, and the sum that the best pair minimises:
// recorded rides, plus a fifth of the mean over the simulated kinds, because few cars follow a line from end to end.

import { shippedModels } from '../../dist/analysis/models.js';
import { forwardBackward, transitWeights } from '../../dist/analysis/modes/mode-crf.js';
import { transitOf } from '../../dist/analysis/modes/transit-evidence.js';
import { trainingGroups } from '../../dist/analysis/segment.js';
import { readFeed } from '../../dist/import/add-feed.js';
import { startOfDay } from '../../dist/model/time.js';
import { seededRandom } from '../../dist/simulate/random.js';
import { parseIndex } from '../../dist/transit/feed-index.js';
import { TransitNetwork } from '../../dist/transit/network.js';
import { casesIn } from './cases.mjs';
import { trueMode } from './joint.mjs';
import { phones, recorded } from './made-up.mjs';

const args = process.argv.slice(2);
const flag = args.indexOf('--draws');
const draws = flag < 0 ? 40 : Number(args.splice(flag, 2)[1]);
const [folder, ...feeds] = args;
if (feeds.length === 0 || !Number.isSafeInteger(draws)) {
  console.error(
    'usage: node tools/train/transit-weights.mjs CASES FEED.zip... [--draws N]; run `npm run build` before',
  );
  process.exit(2);
}

const indexes = [];
for (const path of feeds) indexes.push(parseIndex((await readFeed(path, 0)).index));
const network = new TransitNetwork(indexes);
const evidence = transitOf(network);
const busLines = network.patterns.filter(
  ({ line, shape, stops }) => line.kind === 'bus' && shape !== undefined && stops.length > 8,
);

const metresPerDegree = 111_195;
/** m/s around which a ride's speed is drawn; m between halts beside those at stops, and s of each: `[least, most]`. */
const rides = {
  bus: { mode: 'BUS', speed: 8.5, apart: [300, 1200], halt: [8, 25], walk: [80, 400], wait: [60, 400] },
  car: { mode: 'CAR', speed: 11.5, apart: [300, 1200], halt: [8, 25], walk: [10, 150] },
  'car in a jam': { mode: 'CAR', speed: 7, apart: [80, 400], halt: [8, 40], walk: [10, 150] },
};
const usedPhones = ['android', 'iphone', 'android without readings', 'logger, 10 s'];

/** A day with one ride along a bus line, as `recorded` takes it, and where and when it takes place. */
function rideAlong({ mode, speed, apart, halt, walk, wait }, random) {
  const { shape, stops } = random.pick(busLines);
  const first = Math.floor(random.between(0, stops.length - 6));
  const used = stops.slice(first, first + 5 + Math.floor(random.between(0, 14)));
  const home = [used[0].latitude, used[0].longitude];
  const onPlane = (latitude, longitude) => ({
    x: (longitude - home[1]) * metresPerDegree * Math.cos((home[0] * Math.PI) / 180),
    y: (latitude - home[0]) * metresPerDegree,
  });
  const halts = used.map(({ latitude, longitude }) => onPlane(latitude, longitude));
  const path = shape.flatMap((latitude, i) => (i % 2 === 0 ? [onPlane(latitude, shape[i + 1])] : []));
  const from = nearest(path, halts[0], 0);
  const route = path.slice(from, nearest(path, halts.at(-1), from) + 1);
  if (route.length < 3) return null;

  const seconds = [];
  const at = { ...route[0] };
  const rest = (count, now = null) => {
    for (let i = 0; i < count; i += 1) seconds.push({ ...at, mode: now, speed: 0, hidden: false });
  };
  const go = (to, metres, now, onStep = () => {}) => {
    for (;;) {
      const left = Math.hypot(to.x - at.x, to.y - at.y);
      if (left < metres) break;
      at.x += ((to.x - at.x) / left) * metres;
      at.y += ((to.y - at.y) / left) * metres;
      seconds.push({ ...at, mode: now, speed: metres, hidden: false });
      onStep();
    }
    Object.assign(at, to);
  };
  const leg = (name, travel) => {
    const start = seconds.length;
    travel();
    return { mode: name, from: start, to: seconds.length };
  };
  const beside = () => {
    const [course, metres] = [random.between(0, 2 * Math.PI), random.between(...walk)];
    return { x: at.x + metres * Math.cos(course), y: at.y + metres * Math.sin(course) };
  };
  const pace = speed * random.between(0.8, 1.2);
  let untilHalt = random.between(...apart);
  const left = new Set(halts);
  const step = () => {
    untilHalt -= pace;
    const stop = [...left].find(({ x, y }) => Math.hypot(x - at.x, y - at.y) < 25);
    if (wait && stop && left.delete(stop) && random.chance(0.7)) rest(random.between(10, 35), mode);
    if (untilHalt < 0) {
      untilHalt = random.between(...apart);
      rest(random.between(...halt), mode);
    }
  };
  Object.assign(at, beside());
  rest(random.between(2400, 3600));
  const sections = [leg('WALKING', () => go(route[0], 1.3, 'WALKING'))];
  if (wait) rest(random.between(...wait));
  sections.push(leg(mode, () => route.slice(1).map((to) => go(to, pace, mode, step))));
  sections.push(leg('WALKING', () => go(beside(), 1.3, 'WALKING')));
  rest(3600);
  const hour = 3600 * Math.floor(random.between(6, 17));
  return { day: { seconds, sections }, setting: { home, start: startOfDay(feed.first_day, feed.zone) + hour } };
}

/** Index of the point of a path, from an index on, that is nearest to a place. */
function nearest(path, { x, y }, from) {
  const off = path.map((point, i) => (i < from ? Number.POSITIVE_INFINITY : Math.hypot(point.x - x, point.y - y)));
  return off.indexOf(Math.min(...off));
}

function* allCases() {
  for (const one of casesIn(folder)) yield { one, kind: 'recorded', crf: shippedModels.crf };
  for (const [kind, ride] of Object.entries(rides))
    for (let n = 0; n < draws; n += 1) {
      const found = rideAlong(ride, seededRandom('along', kind, n));
      for (const phone of found === null ? [] : usedPhones) {
        const { readings } = phones[phone];
        const one = recorded(found.day, phones[phone], seededRandom('phone', kind, phone, n), found.setting);
        const crf = readings ? shippedModels.crf : shippedModels.crfSparse;
        yield { one, kind: readings ? kind : `${kind}, no readings`, crf };
      }
    }
}

const groups = [];
for (const { one, kind, crf } of allCases()) {
  const { locations, motions, events, truth } = one;
  const stretch = { locations, motions, events, loadedUntil: Number.POSITIVE_INFINITY };
  for (const { legs, transit } of trainingGroups(stretch, shippedModels, evidence)) {
    const truths = legs.map((leg) => trueMode(leg, truth));
    groups.push({ kind, crf, legs, transit, labels: truths.map((mode, i) => (legs[i].possible[mode] ? mode : null)) });
  }
}

const kinds = [...new Set(groups.map(({ kind }) => kind))];
console.log(`| bus | train | ${kinds.join(' | ')} | sum |\n|---|---|${kinds.map(() => '---|').join('')}---|`);
for (const bus of [0, 0.7, 1, 1.4, 2])
  for (const train of [0.7, 1, 1.4, 2]) {
    const sums = new Map(kinds.map((kind) => [kind, { loss: 0, right: 0, legs: 0 }]));
    for (const { kind, crf, legs, transit, labels } of groups) {
      const weighed = transit.map((one) => ({
        bus: (bus / transitWeights.bus) * one.bus,
        train: (train / transitWeights.train) * one.train,
      }));
      const { single } = forwardBackward(legs, crf, { transit: weighed });
      const sum = sums.get(kind);
      for (const [i, label] of labels.entries()) {
        if (label === null) continue;
        sum.legs += 1;
        sum.loss -= Math.log(Math.max(1e-6, single[i][label]));
        if (single[i][label] === Math.max(...single[i])) sum.right += 1;
      }
    }
    const loss = (kind) => sums.get(kind).loss / sums.get(kind).legs;
    const simulated = kinds.slice(1);
    const all = loss('recorded') + simulated.reduce((sum, kind) => sum + loss(kind), 0) / simulated.length / 5;
    const cells = kinds.map(
      (kind) => `${loss(kind).toFixed(3)} (${(sums.get(kind).right / sums.get(kind).legs).toFixed(2)})`,
    );
    console.log(`| ${bus} | ${train} | ${cells.join(' | ')} | ${all.toFixed(4)} |`);
  }
