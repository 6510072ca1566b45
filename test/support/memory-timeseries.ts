// The part of a timeseries that the analysis reads, in memory: quick enough for thousands of histories.
import { convert } from '../../src/intake/converters/convert.ts';
import { dataTime, type Entry } from '../../src/model/entry.ts';
import { isTimeZone } from '../../src/model/time.ts';
import type { StretchStore } from '../../src/pipeline/read-stretch.ts';
import type { EntryCursor } from '../../src/store/store.ts';

type Row = EntryCursor & { entry: Entry };

const compare = (a: EntryCursor, b: EntryCursor): number =>
  a.time - b.time || (a.key < b.key ? -1 : a.key > b.key ? 1 : 0) || a.write_ts - b.write_ts;

/** Finds in converted `pushed`, one entry per identity, in pages of at most `pageSize`. */
export function memoryTimeseries(pushed: readonly Entry[], pageSize = 5000): StretchStore {
  const entries = pushed.map(convert);
  const rows: Row[] = entries.flatMap((entry) => {
    const time = dataTime(entry.data);
    return time === null ? [] : [{ time, key: entry.metadata.key, write_ts: entry.metadata.write_ts, entry }];
  });
  rows.sort(compare);
  const zones = entries
    .flatMap(({ metadata: { write_ts, key, time_zone } }) =>
      isTimeZone(time_zone) ? [{ write_ts, key, zone: time_zone }] : [],
    )
    .sort((a, b) => a.write_ts - b.write_ts || (a.key < b.key ? -1 : 1));
  const sighting = (found: (typeof zones)[number] | undefined) =>
    found && { write_ts: found.write_ts, zone: found.zone };
  return {
    timeseries: {
      async find(_user, { keys, from = -Infinity, to = Infinity, within, after, limit }) {
        const matching = rows.filter(
          (row) =>
            row.time >= from &&
            row.time < to &&
            (!within || within.some((range) => row.time >= range.from && row.time < range.to)) &&
            (!keys || keys.includes(row.key)) &&
            (!after || compare(row, after) > 0),
        );
        const page = matching.slice(0, Math.min(limit, pageSize));
        const { entry: _, ...last } = page.at(-1) ?? { entry: null };
        const next = matching.length > page.length ? (last as EntryCursor) : null;
        return { entries: page.map((row) => row.entry), received_ts: page.map(() => 0), next };
      },
      async zonesAround(_user, writeTs) {
        const before = zones.filter((z) => z.write_ts <= writeTs).at(-1);
        const first = before && zones.find((z) => z.write_ts === before.write_ts);
        return { before: sighting(first) ?? null, after: sighting(zones.find((z) => z.write_ts > writeTs)) ?? null };
      },
    },
  };
}
