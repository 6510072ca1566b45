// How well observed time tells what was taken out of days: copies of recorded and simulated days, each spoilt in one way.
//
//     node tools/train/spoilt.mjs SEED COPIES FOLDER...
//
// FOLDER: of recorded days, `<name>.put.json.gz`. Prints each copy that fails, and how many hold.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { readDays } from '../../dist/diary/read-days.js';
import { observationsOf } from '../../dist/evaluate/cases.js';
import { putBatch } from '../../dist/intake/put-batch.js';
import { silentLog } from '../../dist/log/log.js';
import { localDay } from '../../dist/model/time.js';
import { runPipeline } from '../../dist/pipeline/run-pipeline.js';
import { seededRandom } from '../../dist/simulate/random.js';
import { simulateDays } from '../../dist/simulate/simulate-day.js';
import { openStore } from '../../dist/store/open.js';

const minute = 60;
const day = 86_400;
/** s by which wrong clocks are ahead. */
const ahead = 3 * day;
/** s without a word after which a rest had no entries: what is taken out of it counts as neither. */
const longest = 15 * minute;

const timeOf = ({ metadata, data }) => (typeof data.ts === 'number' ? data.ts : metadata.write_ts);
const lastOf = (entries) => wordsOf(entries).words.at(-1);
const isIos = (entries) => entries.some(({ metadata }) => metadata.platform === 'ios');

/** A word of the phone's state machine, by which a spoilt copy says what happened. */
function word(entries, ts, android, ios, state = 'waiting_for_trip_start') {
  const [like] = entries.filter(({ metadata }) => metadata.key === 'statemachine/transition');
  const names = isIos(entries)
    ? { currState: `STATE_${state.toUpperCase()}`, transition: ios }
    : { currState: state === 'unknown' ? state : `local.state.${state}`, transition: android };
  const { platform, time_zone, type } = (like ?? entries[0]).metadata;
  return {
    metadata: { key: 'statemachine/transition', platform, time_zone, type, write_ts: ts },
    data: { ...names, ts },
  };
}

const within =
  ({ from, to }) =>
  (entry) =>
    timeOf(entry) >= from && timeOf(entry) <= to;
const without = (entries, hole) => entries.filter((entry) => !within(hole)(entry));
const later = (entry, seconds) => ({
  metadata: { ...entry.metadata, write_ts: entry.metadata.write_ts + seconds },
  data: { ...entry.data, ...(typeof entry.data.ts === 'number' && { ts: entry.data.ts + seconds }) },
});

/** By kind: the puts of a spoilt copy, `[entries, when]` each. */
const kinds = {
  hole: (entries, hole) => [[without(entries, hole)]],
  'no location': (entries, hole) => [
    [entries.filter((entry) => !within(hole)(entry) || !/location/.test(entry.metadata.key))],
  ],
  'tracking off': (entries, hole) => [
    [
      [
        ...without(entries, hole),
        word(entries, hole.from, 'local.transition.stop_tracking', 'T_FORCE_STOP_TRACKING'),
        word(entries, hole.to, 'local.transition.start_tracking', 'T_START_TRACKING', 'tracking_stopped'),
      ],
    ],
  ],
  'no permission': (entries, hole) => [
    [
      [
        ...without(entries, hole),
        ...(isIos(entries) ? [] : [word(entries, hole.from, 'local.transition.tracking_error', '')]), // iPhones have no such word
        word(entries, hole.to, 'local.transition.initialize', 'T_INITIALIZE', 'start'),
      ],
    ],
  ],
  'phone off': (entries, hole) => [
    [
      [
        ...without(entries, hole),
        word(entries, hole.to, 'booted', 'T_INITIALIZE', isIos(entries) ? 'start' : 'unknown'),
      ],
    ],
  ],
  'clock wrong': (entries, hole) => [
    [without(entries, hole).filter((entry) => timeOf(entry) < hole.from), hole.from],
    [entries.filter(within(hole)).map((entry) => later(entry, ahead)), lastOf(entries.filter(within(hole)))],
    [without(entries, hole).filter((entry) => timeOf(entry) > hole.to)],
  ],
  'late arrival': (entries, hole) => [[without(entries, hole)], [entries.filter(within(hole))]],
  'borrowed phone': (entries, hole) => [
    [
      [
        ...entries,
        {
          metadata: { key: 'manual/correction', platform: 'other', type: 'message', write_ts: hole.to + 7 },
          data: { kind: 'set_aside', start_ts: hole.from, end_ts: hole.to },
        },
      ],
    ],
  ],
};

const folder = mkdtempSync(join(tmpdir(), 'spoilt-'));
const store = await openStore(`sqlite:${folder}`);
let users = 0;

/** Unobserved spans of the days that the entries tell of, after the puts. */
async function unobserved(puts, { from, to }, zone) {
  users += 1;
  const { user } = await store.users.register(`copy-${users}`, { now: 0 });
  for (const [entries, at = to + 10 * day] of puts) {
    await putBatch(user.uuid, entries, { store, now: () => at });
    await runPipeline(store, user.uuid, { log: silentLog, now: () => at });
  }
  const range = { from: localDay(from - day / 2, zone), to: localDay(to + 4 * day, zone) };
  const days = await readDays(store, user, range, to + 10 * day);
  const spans = days.flatMap(({ observed }) => observed.spans);
  return { spans: spans.filter(({ kind }) => kind === 'unobserved'), all: spans };
}

/** The parts of `ranges` that lie within `limits`, s. */
const secondsIn = (ranges, limits) =>
  limits.reduce(
    (sum, limit) =>
      ranges.reduce(
        (part, { from, to }) => part + Math.max(0, Math.min(to, limit.to) - Math.max(from, limit.from)),
        sum,
      ),
    0,
  );

/** Seconds in `limits` in which one of two lists of ranges holds and the other does not. */
function different(some, others, limits) {
  const cuts = [...new Set([...some, ...others, ...limits].flatMap(({ from, to }) => [from, to]))].sort(
    (a, b) => a - b,
  );
  const pieces = cuts.slice(1).map((to, i) => ({ from: cuts[i], to }));
  const isIn = (ranges, { from, to }) => ranges.some((range) => range.from <= from && range.to >= to);
  const found = pieces.filter((p) => isIn(limits, p) && isIn(some, p) !== isIn(others, p));
  return found.reduce((sum, { from, to }) => sum + to - from, 0);
}

function* recordedDays(folders) {
  for (const folder of folders) {
    for (const file of readdirSync(folder)
      .filter((name) => name.endsWith('.put.json.gz'))
      .sort()) {
      const { phone_to_server } = JSON.parse(gunzipSync(readFileSync(join(folder, file))).toString('utf8'));
      yield { name: file.slice(0, -12), entries: phone_to_server };
    }
  }
}

function* simulatedLives(seed, count) {
  for (let i = 0; i < count; i += 1) {
    const platform = i % 2 === 0 ? 'android' : 'ios';
    const options = { platform, seed: `${seed} ${i}`, day: '2024-03-28' };
    yield { name: `simulated ${platform} ${i}`, entries: [...simulateDays(options, 6)].flat() };
  }
}

/** The time behind a hole, but that of which entries with a wrong clock claim to tell, up to the words around it. */
function aroundClaimed(words, cut, after) {
  const begin = words.findLast((ts) => ts < cut[0] + ahead) ?? after;
  const end = words.find((ts) => ts > cut.at(-1) + ahead) ?? Number.MAX_SAFE_INTEGER;
  return [
    { from: after, to: begin },
    { from: end, to: Number.MAX_SAFE_INTEGER },
  ].filter(({ from, to }) => from < to);
}

/** Where the phone sent its words, ascending. */
function wordsOf(entries) {
  const { locations, motions, events } = observationsOf(entries);
  const times = [...locations, ...motions, ...events].map(({ ts }) => ts);
  return { words: [...new Set(times)].sort((a, b) => a - b), located: locations.map(({ ts }) => ts) };
}

const [seed = 'a', copies = '100', ...folders] = process.argv.slice(2);
const random = seededRandom('spoilt', seed);
const cases = [...recordedDays(folders), ...simulatedLives(seed, 24)];
const baselines = new Map();
const names = Object.keys(kinds);
const results = new Map(names.map((name) => [name, [0, 0]]));
let [held, tried, asStay] = [0, 0, 0];
for (let n = 0; tried < Number(copies) && n < 4 * Number(copies); n += 1) {
  const one = random.pick(cases);
  const kind = names[tried % names.length];
  const zone = one.entries[0].metadata.time_zone ?? 'UTC';
  const { words, located } = wordsOf(one.entries);
  const range = { from: words[0], to: words.at(-1) };
  if (!baselines.has(one.name)) {
    const found = await unobserved([[one.entries]], range, zone);
    baselines.set(one.name, found);
  }
  const base = baselines.get(one.name);
  const moves = base.all.filter((span) => span.kind === 'moving');
  if (moves.length === 0) continue;
  const move = random.pick(moves);
  // Holes begin in a trip, or just before it.
  const from = random.between(move.from - 20 * minute, move.to);
  const most = range.to - range.from > 2 * day ? 3 * day : 4 * 3600;
  const to = from + 20 * minute * (most / (20 * minute)) ** random.next();
  const hole = { from, to };
  const cut = words.filter((ts) => ts >= from && ts <= to);
  const before = words.findLast((ts) => ts < from);
  const after = words.find((ts) => ts > to);
  const first = base.all.find((span) => span.kind !== 'unobserved').from;
  if (cut.length < 3 || !(first < from) || after === undefined) continue;
  // What is taken out: from the first to the last word of the hole, without rests that had no entries.
  const pieces = cut.slice(1).flatMap((ts, i) => {
    const piece = { from: cut[i], to: ts };
    return ts - cut[i] <= longest || secondsIn([piece], moves) > 0 ? [piece] : [];
  });
  const taken = secondsIn(pieces, [hole]) - secondsIn(base.spans, pieces);
  if (taken < 15 * minute || (kind === 'no location' && secondsIn(moves, [hole]) < 10 * minute)) continue;
  tried += 1;
  const found = await unobserved(kinds[kind](one.entries, hole), range, zone);
  // What lies around the hole without a location that tells when the person moved counts as neither, if nothing was sent.
  const near = [located.findLast((ts) => ts < from) ?? 0, located.find((ts) => ts > to) ?? words.at(-1)];
  const silent = words.slice(1).flatMap((ts, i) => (ts - words[i] > longest ? [{ from: words[i], to: ts }] : []));
  const rests = silent.filter((rest) => rest.to >= near[0] && rest.from <= near[1]);
  const outside = [
    { from: Number.MIN_SAFE_INTEGER, to: Math.min(before, from) },
    ...(kind === 'clock wrong'
      ? aroundClaimed(words, cut, after)
      : [{ from: Math.max(after, to), to: Number.MAX_SAFE_INTEGER }]),
  ];
  const isRestored = kind === 'late arrival';
  const missing = isRestored
    ? different(found.spans, base.spans, [{ from: before, to: after }])
    : secondsIn(pieces, [hole]) - secondsIn(found.spans, pieces);
  const neither = rests.flatMap(({ from, to }) =>
    outside.map((limit) => ({ from: Math.max(from, limit.from), to: Math.min(to, limit.to) })),
  );
  const surplus =
    different(found.spans, base.spans, outside) -
    different(
      found.spans,
      base.spans,
      neither.filter(({ from, to }) => from < to),
    );
  const stays = ({ all }) =>
    secondsIn(
      all.filter((span) => span.kind === 'staying'),
      [hole],
    );
  // Who moved without locations may be shown as moving or as not observed, but not as staying.
  const hidden = stays(found) - stays(base);
  const holds =
    kind === 'no location'
      ? hidden <= Math.max(minute, 0.1 * secondsIn(moves, [hole]))
      : missing <= Math.max(minute, 0.05 * taken) && surplus <= Math.max(minute, 0.05 * taken);
  const result = results.get(kind);
  result[1] += 1;
  if (holds) {
    held += 1;
    result[0] += 1;
    continue;
  }
  if (
    secondsIn(
      found.all.filter((span) => span.kind === 'staying'),
      pieces,
    ) >
    0.9 * taken
  )
    asStay += 1;
  const minutes = (s) => `${Math.round(s / 60)} min`;
  const clock = (ts) => `${new Date(ts * 1000).toISOString().slice(0, 16)}`;
  console.log(
    `${one.name}, ${kind} ${clock(from)} to ${clock(to)} (${clock(before)} to ${clock(after)}), taken ${minutes(taken)}:`,
    `missing ${minutes(missing)}, surplus ${minutes(surplus)}`,
  );
}
for (const [kind, [good, all]] of results) console.log(`${kind}: ${good} of ${all}`);
console.log(`${held} of ${tried} hold; of the others ${asStay} show a stay`);
await store.close();
rmSync(folder, { recursive: true });
