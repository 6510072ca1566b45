// How well the observed time of a day shows missing data: copies of recorded and simulated days, each spoilt in one way.
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
/** s by which a wrong clock is ahead. */
const ahead = 3 * day;
/** s; a rest without entries for longer than this counts neither as missing nor as found */
const longest = 15 * minute;

const timeOf = ({ metadata, data }) => (typeof data.ts === 'number' ? data.ts : metadata.write_ts);
const lastOf = (entries) => timesOf(entries).times.at(-1);
const isIos = (entries) => entries.some(({ metadata }) => metadata.platform === 'ios');

/** An event of the phone's state machine that reports what happened in a spoilt copy. */
function event(entries, ts, android, ios, state = 'waiting_for_trip_start') {
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
const without = (entries, gap) => entries.filter((entry) => !within(gap)(entry));
const later = (entry, seconds) => ({
  metadata: { ...entry.metadata, write_ts: entry.metadata.write_ts + seconds },
  data: { ...entry.data, ...(typeof entry.data.ts === 'number' && { ts: entry.data.ts + seconds }) },
});

/** By kind: the puts of a spoilt copy, each `[entries, time of receipt]`. */
const kinds = {
  gap: (entries, gap) => [[without(entries, gap)]],
  'no location': (entries, gap) => [
    [entries.filter((entry) => !within(gap)(entry) || !/location/.test(entry.metadata.key))],
  ],
  'tracking off': (entries, gap) => [
    [
      [
        ...without(entries, gap),
        event(entries, gap.from, 'local.transition.stop_tracking', 'T_FORCE_STOP_TRACKING'),
        event(entries, gap.to, 'local.transition.start_tracking', 'T_START_TRACKING', 'tracking_stopped'),
      ],
    ],
  ],
  'no permission': (entries, gap) => [
    [
      [
        ...without(entries, gap),
        ...(isIos(entries) ? [] : [event(entries, gap.from, 'local.transition.tracking_error', '')]), // iPhones have no such event
        event(entries, gap.to, 'local.transition.initialize', 'T_INITIALIZE', 'start'),
      ],
    ],
  ],
  'phone off': (entries, gap) => [
    [
      [
        ...without(entries, gap),
        event(entries, gap.to, 'booted', 'T_INITIALIZE', isIos(entries) ? 'start' : 'unknown'),
      ],
    ],
  ],
  'clock wrong': (entries, gap) => [
    [without(entries, gap).filter((entry) => timeOf(entry) < gap.from), gap.from],
    [entries.filter(within(gap)).map((entry) => later(entry, ahead)), lastOf(entries.filter(within(gap)))],
    [without(entries, gap).filter((entry) => timeOf(entry) > gap.to)],
  ],
  'late arrival': (entries, gap) => [[without(entries, gap)], [entries.filter(within(gap))]],
  'borrowed phone': (entries, gap) => [
    [
      [
        ...entries,
        {
          metadata: { key: 'manual/correction', platform: 'other', type: 'message', write_ts: gap.to + 7 },
          data: { kind: 'set_aside', start_ts: gap.from, end_ts: gap.to },
        },
      ],
    ],
  ],
};

const folder = mkdtempSync(join(tmpdir(), 'spoilt-'));
const store = await openStore(`sqlite:${folder}`);
let users = 0;

/** Pushes the entries of a new user, and returns the spans that are not observed, and all spans. */
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

/** Seconds in `limits` that only one of two lists of ranges covers. */
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

/** The time after a gap, without the time that entries with a wrong clock claim, extended to the entries around it. */
function aroundClaimed(times, cut, after) {
  const begin = times.findLast((ts) => ts < cut[0] + ahead) ?? after;
  const end = times.find((ts) => ts > cut.at(-1) + ahead) ?? Number.MAX_SAFE_INTEGER;
  return [
    { from: after, to: begin },
    { from: end, to: Number.MAX_SAFE_INTEGER },
  ].filter(({ from, to }) => from < to);
}

/** Times of locations, readings and events, ascending, and of locations alone. */
function timesOf(entries) {
  const { locations, motions, events } = observationsOf(entries);
  const times = [...locations, ...motions, ...events].map(({ ts }) => ts);
  return { times: [...new Set(times)].sort((a, b) => a - b), located: locations.map(({ ts }) => ts) };
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
  const { times, located } = timesOf(one.entries);
  const range = { from: times[0], to: times.at(-1) };
  if (!baselines.has(one.name)) {
    const found = await unobserved([[one.entries]], range, zone);
    baselines.set(one.name, found);
  }
  const base = baselines.get(one.name);
  const moves = base.all.filter((span) => span.kind === 'moving');
  if (moves.length === 0) continue;
  const move = random.pick(moves);
  // Gaps begin in a trip, or up to 20 minutes before it.
  const from = random.between(move.from - 20 * minute, move.to);
  const most = range.to - range.from > 2 * day ? 3 * day : 4 * 3600;
  const to = from + 20 * minute * (most / (20 * minute)) ** random.next();
  const gap = { from, to };
  const cut = times.filter((ts) => ts >= from && ts <= to);
  const before = times.findLast((ts) => ts < from);
  const after = times.find((ts) => ts > to);
  const first = base.all.find((span) => span.kind !== 'unobserved').from;
  if (cut.length < 3 || !(first < from) || after === undefined) continue;
  // The removed time: from the first to the last entry in the gap, without rests that had no entries.
  const pieces = cut.slice(1).flatMap((ts, i) => {
    const piece = { from: cut[i], to: ts };
    return ts - cut[i] <= longest || secondsIn([piece], moves) > 0 ? [piece] : [];
  });
  const taken = secondsIn(pieces, [gap]) - secondsIn(base.spans, pieces);
  if (taken < 15 * minute || (kind === 'no location' && secondsIn(moves, [gap]) < 10 * minute)) continue;
  tried += 1;
  const found = await unobserved(kinds[kind](one.entries, gap), range, zone);
  // Silent time beside the gap, up to the next location, counts as neither: nothing shows when the person moved.
  const near = [located.findLast((ts) => ts < from) ?? 0, located.find((ts) => ts > to) ?? times.at(-1)];
  const silent = times.slice(1).flatMap((ts, i) => (ts - times[i] > longest ? [{ from: times[i], to: ts }] : []));
  const rests = silent.filter((rest) => rest.to >= near[0] && rest.from <= near[1]);
  const outside = [
    { from: Number.MIN_SAFE_INTEGER, to: Math.min(before, from) },
    ...(kind === 'clock wrong'
      ? aroundClaimed(times, cut, after)
      : [{ from: Math.max(after, to), to: Number.MAX_SAFE_INTEGER }]),
  ];
  const isRestored = kind === 'late arrival';
  const missing = isRestored
    ? different(found.spans, base.spans, [{ from: before, to: after }])
    : secondsIn(pieces, [gap]) - secondsIn(found.spans, pieces);
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
      [gap],
    );
  // Movement without locations may be shown as moving or as not observed, but not as staying.
  const hidden = stays(found) - stays(base);
  const holds =
    kind === 'no location'
      ? hidden <= Math.max(minute, 0.1 * secondsIn(moves, [gap]))
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
