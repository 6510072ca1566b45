// The analysed chain with the active corrections applied, computed at each read.
//
//   analysed    A   B   C   D   E
//   correction          split C        affects B, C, D and E: two trips before the split, two after
//   overlay     [B   C   D   E] becomes [B   C1   C2   D   E]   reads only these links
import type { CorrectionStanding, Stated } from '../../model/correction.ts';
import { allTime, type DayRange, day, justAfter, startOfDay, type TimeRange } from '../../model/time.ts';
import type { TripRecord, TripSpan } from '../../model/trip.ts';
import { briefOf } from '../../model/trip-fields.ts';
import { everyLink } from '../../store/paging.ts';
import type { Store, Trips } from '../../store/store.ts';
import { applyCorrections } from './apply.ts';
import {
  activeCorrections,
  type CorrectionStore,
  concernedTime,
  readCorrections,
  undoneTimes,
} from './read-corrections.ts';

/** The reading functions of `Trips`, with the active corrections applied. */
export interface CorrectedTrips extends Omit<Trips, 'lastSettledBefore' | 'neighbours' | 'places' | 'apply'> {
  /** Corrections by `write_ts`: all, or corrections about a time in `range`, both ends included. */
  corrections(userId: string, range?: TimeRange): Promise<CorrectionStanding[]>;
  /** The links of `briefs`, with all fields. */
  around(userId: string, range: TimeRange): Promise<TripRecord[]>;
  /** The `chain_ts` of the last analysed link that `briefs` depends on; infinite: any later link. */
  lastDeciding(userId: string, range: TimeRange): Promise<number>;
}

/**
 * The stores of the chain. Without `usercache`, pending corrections are ignored.
 * `corrections` replaces the stored corrections, for the preview of a correction.
 */
export type ChainStore = Pick<Store, 'trips' | 'timeseries'> &
  Partial<Pick<Store, 'usercache'>> &
  Pick<CorrectionStore, 'corrections'>;

/** The corrected chain. Each call reads the corrections, so a correction has effect at once. */
export function correctedTrips(store: ChainStore): CorrectedTrips {
  const raw = store.trips;
  const readStated = async (userId: string): Promise<Stated[]> =>
    activeCorrections(await readCorrections(store, userId)).filter(({ kind }) => kind !== 'set_aside');
  const corrected = async <T>(
    userId: string,
    read: Promise<T>,
    correct: (found: T, overlay: (range: TimeRange) => Promise<Overlay[]>) => Promise<T>,
  ): Promise<T> => {
    const [stated, found] = await Promise.all([readStated(userId), read]);
    return stated.length === 0 ? found : correct(found, (range) => readOverlays(raw, userId, stated, range));
  };
  const linksOn = (userId: string, days: DayRange) =>
    corrected(userId, raw.byDay(userId, days), async (found, overlay) => {
      const isOn = (link: TripRecord): boolean => isTrip(link) && link.day >= days.from && link.day <= days.to;
      return withOverlay(found, await overlay(around(days, found)), isOn, (link) => link);
    });
  const trips: CorrectedTrips = {
    corrections: async (userId, range = allTime) =>
      readStandings(raw, userId, await readCorrections(store, userId), range),
    chain: (userId, range) =>
      corrected(userId, raw.chain(userId, range), async (page, overlay) => {
        const { from = allTime.from, to = allTime.to, limit } = range;
        const last = page.length < limit ? to : justAfter(page.at(-1)!.chain_ts);
        const isIn = ({ chain_ts }: TripRecord): boolean => chain_ts >= from && chain_ts < last;
        return withOverlay(page, await overlay({ from, to: last }), isIn, (link) => link).slice(0, limit);
      }),
    // Only corrections after the last link affect drafts.
    drafts: (userId) =>
      corrected(userId, raw.drafts(userId), async (found, overlay) => {
        const overlays = await overlay({ from: allTime.to, to: allTime.to });
        const trips = overlays.flatMap(({ links }) => links.filter(isTrip));
        return found.filter((draft) => !trips.some(({ end_ts }) => end_ts > draft.start_ts));
      }),
    byDay: linksOn,
    starts: (userId, days) =>
      corrected(userId, raw.starts(userId, days), async () =>
        (await linksOn(userId, days)).map(({ chain_ts, day }) => ({ chain_ts, day })),
      ),
    next: (userId, chainTs) =>
      corrected(userId, raw.next(userId, chainTs), async () => {
        const from = justAfter(Math.max(chainTs, -Number.MAX_VALUE));
        for await (const link of everyLink({ trips }, userId, { from })) if (isTrip(link)) return link;
        return null;
      }),
    previous: (userId, chainTs) =>
      corrected(userId, raw.previous(userId, chainTs), async (found) => {
        for (let [to, before] = [chainTs, found]; ; before = await raw.previous(userId, to)) {
          const from = before?.chain_ts ?? allTime.from;
          let last: TripRecord | null = null;
          for await (const link of everyLink({ trips }, userId, { from, to })) if (isTrip(link)) last = link;
          if (last !== null || before === null) return last;
          to = from;
        }
      }),
    summary: (userId) =>
      corrected(userId, raw.summary(userId), async ({ count }, overlay) => {
        const tripsIn = (links: readonly TripRecord[]): number => links.filter(isTrip).length;
        const overlays = await overlay(allTime);
        const added = overlays.reduce((sum, { links, analysed }) => sum + tripsIn(links) - tripsIn(analysed), 0);
        const first = await trips.next(userId, allTime.from);
        const last = await trips.previous(userId, allTime.to);
        return { count: count + added, start_ts: first?.start_ts ?? null, end_ts: last?.end_ts ?? null };
      }),
    spans: (userId, { from, to }) =>
      corrected(userId, raw.spans(userId, { from, to }), async (found, overlay) => {
        const overlays = await overlay({ from, to });
        const written = new Map<TripRecord, number>();
        for (const { range, received_ts, links, analysed } of overlays) {
          // A corrected trip is as new as the newest link in the range, or as a newer correction.
          const around = await raw.spans(userId, { from: range.from, to: justAfter(range.to) });
          const latest = around.reduce((most, { written_ts }) => Math.max(most, written_ts), received_ts);
          const kept = new Set(analysed);
          const own = new Map(around.map((span) => [span.chain_ts, span.written_ts]));
          for (const link of links) written.set(link, kept.has(link) ? own.get(link.chain_ts)! : latest);
        }
        const isIn = (link: TripRecord): boolean => isTrip(link) && link.chain_ts >= from && link.chain_ts < to;
        return withOverlay(found, overlays, isIn, (link) => {
          const { chain_ts, start_ts, end_ts } = link;
          return { chain_ts, start_ts, end_ts, written_ts: written.get(link)! };
        });
      }),
    around: async (userId, { from, to }) => {
      const before = await trips.previous(userId, from);
      const links: TripRecord[] = [];
      for await (const link of everyLink({ trips }, userId, { from: before?.chain_ts ?? from, to })) links.push(link);
      // A gap that began in the range may be stored with the first link after the range.
      links.push(...(await trips.chain(userId, { from: to, limit: 1 })));
      const drafts = await trips.drafts(userId);
      return [...links, ...drafts.filter(({ chain_ts }) => chain_ts >= from && chain_ts < to)];
    },
    briefs: (userId, range) =>
      corrected(userId, raw.briefs(userId, range), async (found, overlay) => {
        const { from, to } = range;
        const analysed = found.filter(({ kind }) => kind !== 'draft');
        const links = withOverlay(analysed, await overlay(rangeRead(range, analysed)), () => true, briefOf);
        const before = links.findLast((link) => isTrip(link) && link.chain_ts < from)?.chain_ts ?? from;
        const after = links.find(({ chain_ts }) => chain_ts >= to)?.chain_ts ?? to;
        const drafts = analysed.length === found.length ? [] : (await trips.drafts(userId)).map(briefOf);
        return [
          ...links.filter(({ chain_ts }) => chain_ts >= before && chain_ts <= after),
          ...drafts.filter(({ chain_ts }) => chain_ts >= from && chain_ts < to),
        ];
      }),
    lastDeciding: async (userId, range) => {
      const analysed = (await raw.briefs(userId, range)).filter(({ kind }) => kind !== 'draft');
      const [read, stated] = [rangeRead(range, analysed), await readStated(userId)];
      const overlays = stated.length === 0 ? [] : await readOverlays(raw, userId, stated, read);
      return Math.max(read.to, ...overlays.map((one) => one.range.to));
    },
    briefsAt: (userId, chainTs) =>
      corrected(userId, raw.briefsAt(userId, chainTs), async (found, overlay) => {
        const range = { from: Math.min(...chainTs), to: Math.max(...chainTs) };
        const asked = new Set(chainTs);
        const isIn = (link: TripRecord): boolean => isTrip(link) && asked.has(link.chain_ts);
        return withOverlay(found, await overlay(range), isIn, briefOf);
      }),
  };
  return trips;
}

/** Omits pending data, because stored documents would not change if these data were rejected later. */
export const movedOnly = ({ trips, timeseries }: ChainStore): ChainStore => ({ trips, timeseries });

/** Reads the corrected chain by `chain_ts`: all, or from `from` to `to`, exclusive. */
export function everyCorrectedLink(
  store: ChainStore,
  userId: string,
  range: Parameters<typeof everyLink>[2] = {},
): AsyncGenerator<TripRecord, undefined> {
  return everyLink({ trips: correctedTrips(store) }, userId, range);
}

export async function* everyLinkAndDraft(
  store: ChainStore,
  userId: string,
  range: { from?: number; to?: number } = {},
): AsyncGenerator<TripRecord, undefined> {
  yield* everyCorrectedLink(store, userId, range);
  const { from = allTime.from, to = allTime.to } = range;
  for (const draft of await correctedTrips(store).drafts(userId))
    if (draft.chain_ts >= from && draft.chain_ts < to) yield draft;
}

const isTrip = ({ kind }: Pick<TripRecord, 'kind'>): boolean => kind === 'trip';

/**
 * The range of `chain_ts` with `found` and every trip of the local days in any time zone.
 * A trip begins up to a day before its first location.
 */
function around(days: DayRange, found: readonly { chain_ts: number }[]): TimeRange {
  const times = found.map(({ chain_ts }) => chain_ts);
  const [from, to] = [startOfDay(days.from, 'UTC') - 2 * day, startOfDay(days.to, 'UTC') + 3 * day];
  return { from: Math.min(from, ...times), to: Math.max(to, ...times) };
}

/** The range to read: open where the chain ends within `range`, as a correction may add a link there. */
function rangeRead({ from, to }: TimeRange, analysed: readonly { chain_ts: number }[]): TimeRange {
  const [first, last] = [analysed[0]?.chain_ts ?? from, analysed.at(-1)?.chain_ts ?? from];
  return { from: first < from ? first : allTime.from, to: last >= to ? last : allTime.to };
}

interface Overlay {
  range: TimeRange; // of `chain_ts`
  analysed: readonly TripRecord[]; // the links in the range before corrections
  links: readonly TripRecord[]; // the links in the range after corrections
  standings: readonly CorrectionStanding[];
  received_ts: number; // when the newest correction of the overlay was received
}

function withOverlay<T extends { chain_ts: number }>(
  found: readonly T[],
  overlays: readonly Overlay[],
  wanted: (link: TripRecord) => boolean,
  as: (link: TripRecord) => T,
): T[] {
  const replaced = new Set(overlays.flatMap(({ analysed }) => analysed.map(({ chain_ts }) => chain_ts)));
  const kept = found.filter(({ chain_ts }) => !replaced.has(chain_ts));
  const corrected = overlays.flatMap(({ links }) => links.filter(wanted).map(as));
  return [...kept, ...corrected].sort((a, b) => a.chain_ts - b.chain_ts);
}

/** Corrections far apart have separate overlays, so that the links between them are not read. */
async function readOverlays(
  raw: Trips,
  userId: string,
  stated: readonly Stated[],
  range: TimeRange,
): Promise<Overlay[]> {
  const overlays: Overlay[] = [];
  for (const { touching, from, to } of await findTouching(raw, userId, stated, range)) {
    const analysed: TripRecord[] = [];
    const bounds = { from, ...(to < allTime.to && { to: justAfter(to) }), limit: linksAtOnce };
    for await (const link of everyLink({ trips: raw }, userId, bounds)) analysed.push(link);
    const received_ts = touching.reduce((most, one) => Math.max(most, one.received_ts), 0);
    overlays.push({ analysed, ...applyCorrections(userId, analysed, touching), range: { from, to }, received_ts });
  }
  return overlays;
}

const linksAtOnce = 500;

type Touching = TimeRange & { touching: readonly Stated[] };

const nearby = 7 * day; // corrections at most this far apart are read together: two reads cost more

/**
 * Finds the corrections that affect a range, then the corrections that affect their ranges, and so
 * on. A correction of a mode affects the trips that may be under way at its time. Other corrections
 * affect the time from the second trip that begins before them to the second trip that begins after
 * them. Returns corrections with overlapping ranges together.
 *
 *   range         [-----------------------------------]
 *   corrections     a b                       c        d      e
 *   affected      |-----|                  |----|    |---|  |---|
 *   returned      [a, b]                   [c]       [d]
 */
async function findTouching(
  raw: Trips,
  userId: string,
  stated: readonly Stated[],
  range: TimeRange,
): Promise<Touching[]> {
  const gaps: Gap[] = [];
  const gapAt = async (ts: number): Promise<Gap> => {
    const known = gaps.find((gap) => ts > gap.from && ts < gap.to);
    if (known === undefined) gaps.push(await readGap(raw, userId, ts));
    return known ?? gaps.at(-1)!;
  };
  const reachOf = async ({ one, from, to }: Concerned): Promise<TimeRange> => {
    const [before, after] = [await gapAt(from), await gapAt(to)];
    return one.kind === 'mode' ? rangeUnderWay(before, from) : { from: before.first, to: after.last };
  };
  const spans = stated.map((one) => ({ one, touching: [one], ...concernedTime(one) }));
  const inside = spans.filter(({ from, to }) => from >= range.from && to <= range.to);
  const touching = new Set(inside.map(({ one }) => one));
  const parts: Touching[] = [];
  let { from, to } = range;
  const touch = (own: Touching): void => {
    [from, to] = [Math.min(from, own.from), Math.max(to, own.to)];
    parts.push(own);
  };
  for (const group of groupsOf(inside, nearby))
    touch({ ...group, from: (await gapAt(group.from)).first, to: (await gapAt(group.to)).last });
  // Nearest corrections first: the search ends at the first correction that does not affect the range.
  const sides = [true, false].flatMap((isMode) => {
    const others = spans.filter(({ one }) => !touching.has(one) && (one.kind === 'mode') === isMode);
    return [
      others.filter((one) => one.from <= range.to).sort((a, b) => b.to - a.to),
      others.filter((one) => one.from > range.to).sort((a, b) => a.from - b.from),
    ];
  });
  for (let before = -1; before !== touching.size; ) {
    before = touching.size;
    for (const side of sides) {
      for (const one of side) {
        if (touching.has(one.one)) continue;
        const own = await reachOf(one);
        if (own.to < from || own.from > to) break;
        touching.add(one.one);
        touch({ touching: one.touching, ...own });
      }
    }
  }
  return groupsOf(parts, 0);
}

function groupsOf(ranges: readonly Touching[], apart: number): Touching[] {
  const groups: Touching[] = [];
  for (const { touching, from, to } of [...ranges].sort((a, b) => a.from - b.from)) {
    const last = groups.at(-1);
    if (last === undefined || from - last.to > apart) groups.push({ touching, from, to });
    else Object.assign(last, { touching: [...last.touching, ...touching], to: Math.max(last.to, to) });
  }
  return groups;
}

type Concerned = Touching & { one: Stated };

/** `first`: the `chain_ts` of the trip before `before`. `last`: of the trip after `after`. */
type Gap = TimeRange & { first: number; last: number; before: TripSpan | null; after: TripSpan | null };

async function readGap(raw: Trips, userId: string, ts: number): Promise<Gap> {
  const spans = await raw.neighbours(userId, ts);
  const [before = null, first] = spans.filter(({ chain_ts }) => chain_ts < ts).reverse();
  const [after = null, last] = spans.filter(({ chain_ts }) => chain_ts > ts);
  const isGap = spans.every(({ chain_ts }) => chain_ts !== ts);
  const [from, to] = isGap ? [before?.chain_ts ?? allTime.from, after?.chain_ts ?? allTime.to] : [ts, ts];
  const ends = { first: first?.chain_ts ?? allTime.from, last: last?.chain_ts ?? allTime.to };
  return { from, to, ...ends, before, after };
}

function rangeUnderWay({ from, before, after }: Gap, ts: number): TimeRange {
  const first = before?.chain_ts ?? Math.max(from, ts);
  return { from: first, to: after !== null && after.start_ts <= ts ? after.chain_ts : Math.max(first, from) };
}

async function readStandings(raw: Trips, userId: string, all: readonly Stated[], range: TimeRange) {
  const isConcerned = (one: Stated): boolean => {
    const { from, to } = concernedTime(one);
    return range === allTime || (from <= range.to && to >= range.from);
  };
  const undone = undoneTimes(all);
  const active = activeCorrections(all);
  const overlays = active.some(isConcerned) ? await readOverlays(raw, userId, active, range) : [];
  const standings = overlays.flatMap((one) => one.standings);
  const byTime = new Map(standings.map((one) => [one.correction.write_ts, one]));
  const stated = new Set(all.map(({ write_ts }) => write_ts));
  return all.filter(isConcerned).map((correction) => {
    const { write_ts } = correction;
    const isIdle = correction.kind !== 'undo' || !stated.has(correction.of);
    const effect = undone.has(write_ts) ? 'undone' : isIdle ? 'without effect' : 'applied';
    const standing: CorrectionStanding = { correction, effect, day: null };
    return byTime.get(write_ts) ?? standing;
  });
}
