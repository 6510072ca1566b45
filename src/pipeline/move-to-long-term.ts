// Stage "move to long term": moves pending entries to the timeseries, rejected entries to the error timeseries.
import { ConversionError, convertedTime } from '../intake/converters/convert.ts';
import { line } from '../log/messages.ts';
import { quoted } from '../log/text.ts';
import { type Dirty, unionOf } from '../model/dirty-range.ts';
import { figureKeys, keyRow } from '../model/keys.ts';
import { faultReason } from '../model/rejections.ts';
import type { FailedEntry, Judge } from '../store/store.ts';
import type { RunContext, Stage } from './stage.ts';

/** Entries per transaction. It limits the memory, the time that a put waits, and the work to repeat after a crash. */
const entriesAtOnce = 1_000;

const judge: Judge = (entry) => {
  try {
    return { ts: convertedTime(entry) };
  } catch (error) {
    if (error instanceof ConversionError) return { reason: error.reason, message: error.message };
    return { reason: faultReason, message: faultText(error) };
  }
};

/** Describes an unexpected error of a converter in one line: `TypeError: … at convertAndroidBattery`. */
function faultText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const [, place] = /^ +at (?:async )?([\w.]+) \(/m.exec(error.stack ?? '') ?? [];
  return `${error.name}: ${error.message}${place === undefined ? '' : ` at ${place}`}`;
}

export const moveToLongTerm: Stage = {
  name: 'move to long term',
  async run(context) {
    const { store, userId, now, lease } = context;
    const counts = { moved: 0, inserted: 0, updated: 0, unchanged: 0, unknown_keys: 0, set_aside: 0, faults: 0 };
    const at = now();
    for (let more = true; more; ) {
      const moved = await store.usercache.move(userId, { at, limit: entriesAtOnce }, lease(), judge);
      logFailures(context, moved.failed);
      noteDirty(context, moved.dirty);
      if ([...moved.moved, ...moved.failed].some(({ key }) => figureKeys.includes(key))) context.state.months = null;
      counts.moved += moved.moved.length;
      counts.inserted += moved.inserted;
      counts.updated += moved.updated;
      counts.unchanged += moved.unchanged;
      counts.unknown_keys += moved.moved.filter(({ key }) => keyRow(key) === null).length;
      counts.set_aside += moved.failed.length;
      counts.faults += moved.failed.filter(({ reason }) => reason === faultReason).length;
      more = moved.more;
    }
    return { counts };
  },
};

/**
 * Records in the state which data changed. `documents`: true if the change includes an entry that affects documents but
 * no trips, such as an incident.
 */
function noteDirty(context: RunContext, { changed, documents }: Dirty): void {
  const { state } = context;
  state.changed = unionOf(state.changed, changed);
  if (!documents) return;
  state.documents_due = true;
  context.changedTrips = null;
}

function logFailures({ log, userId }: RunContext, failed: readonly FailedEntry[]): void {
  if (failed.length === 0) return;
  const reasons = failed.map((f) => line.entryFailed(userId, f.message, f.key, f.write_ts, f.reason));
  log.writeAll('WARNING', reasons);
  // One line per fault. Each entry has its own line above.
  const faults = failed.filter(({ reason }) => reason === faultReason);
  for (const text of new Set(faults.map(({ key, message }) => `a converter of ${quoted(key)} failed: ${message}`)))
    log.write('ERROR', line.aboutUser(userId, text));
  const inserted = failed.map((f) => line.insertingError(userId, f.key, f.write_ts));
  log.writeAll('DEBUG', inserted);
}
