// Made-up days: common trips in a town that does not exist, as several kinds of phones record them. A day depends only on its
// seed, kind, phone and number, and on no recorded day. Speeds, distances between stops and waits are drawn from ranges
// that timetables and traffic counts show.
import { seededRandom } from '../../dist/simulate/random.js';

const walk = (seconds, speed = 1.35) => ({ mode: 'WALKING', seconds, speed, corner: 120, halt: [250, 8] });
const wait = (seconds) => ({ mode: null, seconds, speed: 0 });
/** Time at a place: the trip ends, and another begins. */
const stay = (seconds) => ({ ...wait(seconds), stay: true });
const back = (leg) => ({ ...leg, back: true });
const bike = (seconds, speed = 4.8) => ({ mode: 'BICYCLING', seconds, speed, corner: 450, halt: [700, 15] });
const car = (seconds, speed = 12, more = {}) => ({
  mode: 'CAR',
  seconds,
  speed,
  corner: 700,
  halt: [900, 20],
  ...more,
});
const bus = (seconds, speed = 9) => ({ mode: 'BUS', seconds, speed, corner: 900, halt: [450, 22] });
const rail = (seconds, speed, corner, halt, more = {}) => ({ mode: 'TRAIN', seconds, speed, corner, halt, ...more });
const tram = (seconds, more = {}) => rail(seconds, 8, 1400, [500, 22], { bend: 0.6, ...more });
const metro = (seconds) => rail(seconds, 12, 2500, [900, 30], { bend: 0.4, tunnel: 0.85 });
const train = (seconds) => rail(seconds, 26, 9000, [8000, 60], { bend: 0.3 });
const ferry = (seconds = 1500, speed = 6) => ({
  mode: 'FERRY',
  seconds,
  speed,
  corner: 4000,
  halt: [90_000, 0],
  bend: 0.4,
});
/** A jam in which a car stands half of the time. */
const stopAndGo = { corner: 900, halt: [70, 22] };
/** A car that follows a bus line from stop to stop: the corners and traffic lights of the line, without its stops. */
const alongLine = { corner: 900, halt: [700, 18] };

/** Legs of the days by kind. Seconds and m/s are means: each day draws its own around them. */
export const kinds = {
  walk: [walk(1500)],
  run: [walk(1800, 2.9)],
  bicycle: [bike(1200)],
  'slow bicycle': [bike(900, 3.4)],
  'e-bike': [bike(1200, 6.3)],
  'e-scooter': [bike(700, 4.8)],
  car: [walk(90), car(1200), walk(120)],
  'car in a jam': [walk(60), car(1800, 5, { halt: [220, 25] }), walk(60)],
  motorway: [walk(60), car(1800, 30, { corner: 6000, bend: 0.25, halt: [40_000, 20] }), walk(60)],
  'drives with a shop': [walk(60), car(700), walk(90), stay(1100), back(walk(90)), car(700), walk(60)],
  'drives with a short stop': [car(600), walk(40), stay(420), back(walk(40)), back(car(700)), walk(60)],
  'drives, nobody gets out': [car(800), stay(600), back(car(800)), walk(60)],
  'errand on foot': [walk(420), stay(540), back(walk(420))],
  'two visits on foot': [walk(500), stay(1300), walk(420)],
  'errand by bicycle': [bike(500), stay(600), back(bike(500))],
  'bicycle to two places': [bike(600), walk(40), stay(900), walk(40), bike(500)],
  'bus to a shop': [
    walk(260),
    wait(200),
    bus(700),
    walk(150),
    stay(1000),
    back(walk(150)),
    wait(300),
    bus(650),
    walk(200),
  ],
  'tram, then on foot': [walk(250), wait(200), tram(800), walk(200), stay(1100), walk(400)],
  'drive, then on foot': [car(800), walk(100), stay(1000), walk(350), stay(900), walk(350)],
  taxi: [car(1100, 11), wait(220), car(900, 11), walk(60)],
  'bus, 1 min': [walk(300), wait(60), bus(900), walk(200)],
  'bus, 3 min': [walk(230), wait(180), bus(800), walk(180)],
  'bus, 6 min': [walk(420), wait(360), bus(1200), walk(300)],
  'slow bus': [walk(300), wait(240), { ...bus(1500, 5), halt: [380, 30] }, walk(200)],
  'two buses': [walk(300), wait(240), bus(700), walk(60), wait(300), bus(700), walk(200)],
  tram: [walk(300), wait(240), tram(1000), walk(300)],
  metro: [walk(400), wait(150), metro(1100), walk(350)],
  'metro and bus': [walk(350), wait(150), metro(900), walk(180), wait(300), bus(600), walk(150)],
  train: [walk(600), wait(480), train(1800), walk(500)],
  'train with bicycle': [bike(600), walk(60), wait(420), train(1500), bike(500)],
  'fast train': [walk(600), wait(600), rail(3600, 60, 30_000, [90_000, 120], { bend: 0.2 }), walk(500)],
  ferry: [walk(400), wait(600), ferry(), walk(300)],
  'fast ferry': [walk(400), wait(500), ferry(1800, 12), walk(300)],
  'river ferry': [walk(300), wait(200), ferry(500, 3.6), walk(400)],
  'ferry, no wait': [walk(400), ferry(1200, 8), walk(300)],
  'tram, no wait': [walk(250), tram(900), walk(250)],
  'tram on its own track': [walk(300), wait(240), tram(1000, { bend: 0.3, corner: 2200, speed: 10 }), walk(200)],
  'tram through an old town': [walk(250), wait(180), tram(900, { bend: 1.2, corner: 600, speed: 6 }), walk(200)],
  'bus, no wait': [walk(240), bus(900), walk(200)],
  'slow run': [walk(1800, 2.3)],
  'fast run': [walk(2000, 3.6)],
  'run with pauses': [walk(600, 3), wait(90), walk(700, 3), wait(100), back(walk(900, 2.8))],
  'car that stands half of the time': [walk(60), car(2400, 4.5, stopAndGo), walk(60)],
  'car in a jam, no walk': [car(900, 11), car(1500, 4, stopAndGo), car(600, 11)],
  'car along a bus line': [walk(100), car(1000, 11, alongLine), walk(120)],
  'car along a bus line in a jam': [walk(120), car(1400, 6, { ...alongLine, halt: [260, 25] }), walk(150)],
};

/** How phones sample: s or m between locations, and with or without motion readings. `awake`: they sample at rest, too. */
export const phones = {
  android: { every: 30, readings: true },
  iphone: { metres: 50, readings: true },
  'android, 3 min': { every: 180, readings: true },
  'android without readings': { every: 30 },
  'logger, 10 s': { every: 10, awake: true },
  'timeline, 5 min': { every: 300, awake: true },
  'iphone, 500 m': { metres: 500 },
};

const metresPerDegree = 111_195;
const start = 1_700_000_000 - (1_700_000_000 % 86_400) + 6 * 3600;
/** Where and when a made-up day takes place: s since the epoch, and latitude and longitude of the plane's zero. */
const setting = { start, home: [48, 11] };

/** The position of the user in every second of a day, and the first and last second of each leg. */
function livedDay(legs, random) {
  const [pace, block] = [random.between(0.75, 1.25), random.between(0.7, 1.4)];
  const at = { x: 0, y: 0, course: random.between(0, 6.28) };
  const seconds = [];
  const sections = [];
  const rest = (count) => {
    for (let i = 0; i < count; i += 1) seconds.push({ x: at.x, y: at.y, mode: null, speed: 0, hidden: false });
  };
  rest(random.between(2400, 3600));
  for (const leg of legs) {
    const count = Math.round(leg.seconds * random.between(0.7, 1.4));
    if (leg.stay) sections.push({ stay: true });
    if (leg.mode === null) rest(count);
    else {
      const from = seconds.length;
      if (leg.back) at.course += Math.PI;
      ride(leg, count, { at, seconds, pace: leg.mode === 'WALKING' ? 1 : pace, block }, random);
      sections.push({ mode: leg.mode, from, to: seconds.length });
    }
  }
  rest(3600);
  return { seconds, sections };
}

function ride(leg, count, { at, seconds, pace, block }, random) {
  const cruise = leg.speed * pace * random.between(0.88, 1.12) * 1.2;
  const underground = leg.tunnel !== undefined && random.chance(leg.tunnel);
  let [metres, speed, standing, turn] = [0, 0, 0, 0];
  let corner = leg.corner * block * random.between(0.3, 1.3);
  let halt = leg.halt[0] * random.between(0.4, 1.3);
  for (let i = 0; i < count; i += 1) {
    if (standing > 0) {
      standing -= 1;
      speed = 0;
    } else {
      speed = Math.max(0.2, speed + Math.max(-1.5, Math.min(1, cruise * (1 + random.normal(0.08)) - speed)));
      metres += speed;
      if (metres >= corner) {
        turn = (random.chance(0.5) ? -1 : 1) * (leg.bend ?? (random.chance(0.75) ? 1.57 : 0.8));
        corner += leg.corner * block * random.between(0.3, 1.7);
        if (leg.bend === undefined) speed = Math.min(speed, 5);
      }
      const step = Math.sign(turn) * Math.min(Math.abs(turn), leg.bend === undefined ? 0.4 : leg.bend / 40);
      at.course += step;
      turn -= step;
      if (metres >= halt) {
        standing = Math.round(leg.halt[1] * random.between(0.5, 1.5));
        halt += leg.halt[0] * random.between(0.5, 1.5);
      }
      at.x += speed * Math.cos(at.course);
      at.y += speed * Math.sin(at.course);
    }
    seconds.push({ x: at.x, y: at.y, mode: leg.mode, speed, hidden: underground && i > 20 && i < count - 20 });
  }
}

/** What a phone records of a day (`livedDay`). */
export function recorded({ seconds, sections }, phone, random, { start, home } = setting) {
  const noise = random.pick([4, 8, 14]);
  const found = { locations: [], motions: [], events: [] };
  const sampling = phone.metres === undefined ? 'time' : 'distance';
  let [ex, ey, last] = [0, 0, Number.NEGATIVE_INFINITY];
  const locate = (i) => {
    const kept = Math.exp(-Math.max(1, i - last) / 60); // errors near in time are alike
    [ex, ey] = [ex, ey].map((e) => e * kept + random.normal(noise * Math.sqrt(1 - kept * kept)));
    last = i;
    const { x, y, speed } = seconds[i];
    found.locations.push({
      ts: start + i + 0.3,
      latitude: home[0] + (y + ey) / metresPerDegree,
      longitude: home[1] + (x + ex) / (metresPerDegree * Math.cos((home[0] * Math.PI) / 180)),
      altitude: null,
      accuracy: noise * 1.5,
      speed: phone.readings ? speed : null,
      sampling,
      zone: 'Europe/Berlin',
      zoneGuessed: false,
    });
  };
  const far = (i, from, metres) => Math.hypot(seconds[i].x - from.x, seconds[i].y - from.y) >= metres;
  let [awake, noticed, resting, next] = [phone.awake === true, -1, 0, 0];
  let place = seconds[0];
  locate(0);
  for (let i = 1; i < seconds.length; i += 1) {
    if (!awake) {
      if (noticed < 0 && far(i, place, 100)) noticed = i + Math.round(random.between(10, 90));
      if (noticed < 0 || i < noticed) continue;
      [awake, noticed, resting, next, place] = [true, -1, i, i, seconds[i]];
      if (phone.readings) found.events.push({ ts: start + i, transition: 1, state: 1 }); // exited its geofence
      if (sampling === 'distance') locate(i);
    }
    if (!seconds[i].hidden && (sampling === 'time' ? i >= next : far(i, place, phone.metres))) {
      if (i > last) locate(i);
      next = i + phone.every;
      if (sampling === 'distance') [place, resting] = [seconds[i], i];
    }
    if (sampling === 'time' && far(i, place, 80)) [place, resting] = [seconds[i], i];
    const patience = sampling === 'time' ? Math.max(420, 2 * phone.every + 60) : 800;
    if (!phone.awake && i - resting > patience) [awake, place] = [false, seconds[i]];
  }
  if (phone.readings) found.motions.push(...readings(seconds, sampling, random, start));
  for (let k = 1; k <= 3; k += 1) {
    const location = { ...found.locations.at(-1), ts: start + seconds.length + k * 1300 };
    const { x, y } = seconds.at(-1);
    location.latitude = home[0] + (y + random.normal(noise)) / metresPerDegree;
    location.longitude = home[1] + (x + random.normal(noise)) / (metresPerDegree * Math.cos((home[0] * Math.PI) / 180));
    found.locations.push(location);
  }
  const trips = [[]];
  for (const one of sections) {
    if (one.stay) trips.push([]);
    else trips.at(-1).push({ mode: one.mode, start_ts: start + one.from, end_ts: start + one.to });
  }
  return {
    ...found,
    truth: {
      platform: sampling === 'time' ? 'android' : 'ios',
      range: { start_ts: start, end_ts: start + seconds.length },
      trips: trips.map((parts) => ({
        start_ts: parts[0].start_ts,
        end_ts: parts.at(-1).end_ts,
        reference_distance_m: null,
        sections: parts,
      })),
    },
  };
}

const codes = { WALKING: 7, BICYCLING: 1 };

/** Motion readings: every half minute from an Android phone, at changes from an iPhone. */
function readings(seconds, sampling, random, start) {
  const found = [];
  let before = -1;
  for (let i = 2000; i < seconds.length - 2700; i += sampling === 'time' ? 30 : 5) {
    const { mode, speed } = seconds[i];
    const stands = mode === null || (speed < 0.3 && random.chance(0.6));
    let type = stands ? 3 : (codes[mode] ?? 0);
    let confidence = Math.round(random.between(70, 100));
    if (random.chance(0.12)) [type, confidence] = [random.pick([4, 5]), 40];
    if (sampling === 'distance' && (type === before || !random.chance(0.5))) continue;
    if (sampling === 'distance' && type === 1 && random.chance(0.4)) type = 7;
    before = type;
    found.push({ ts: start + i, type, confidence });
  }
  return found;
}

/** Made-up cases, `draws` of each kind and phone, with `kind` and `phone` beside what a recorded case has. */
export function* madeUpCases(seed, draws) {
  for (const [kind, legs] of Object.entries(kinds))
    for (let draw = 0; draw < draws; draw += 1) {
      const day = livedDay(legs, seededRandom('made-up', seed, kind, draw));
      for (const [phone, how] of Object.entries(phones)) {
        const one = recorded(day, how, seededRandom('phone', seed, kind, phone, draw));
        yield { name: `made-up ${kind}, ${phone}, ${draw}`, kind, phone, ...one };
      }
    }
}
