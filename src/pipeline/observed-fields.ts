// The fields of entries that the analysis reads, and those by which converters judge such entries.
import type { EntryFields } from '../store/store.ts';

const metadata = ['key', 'platform', 'write_ts', 'time_zone'];

/** For `locationIn` and `sourceOf`. */
export const locationFields: EntryFields = {
  metadata: [...metadata, 'origin', 'filter'],
  data: [
    ...['ts', 'latitude', 'longitude', 'altitude', 'accuracy', 'sensed_speed', 'filter'],
    ...['bearing', 'heading', 'vaccuracy', 'floor', 'elapsedRealtimeNanos'],
  ],
};

/** For `motionIn`; of Android in all spellings that its converter knows. */
export const motionFields: EntryFields = {
  metadata,
  data: [
    ...['ts', 'type', 'confidence', 'confidence_level'],
    ...['stationary', 'walking', 'running', 'cycling', 'automotive', 'unknown'],
    ...['agb', 'agc', 'zzaEg', 'zzaEh', 'zzbjA', 'zzbjB', 'ajO', 'ajP', 'zzaKM', 'zzaKN', 'zzbhB', 'zzbhC'],
  ],
};

/** For `eventIn`. */
export const eventFields: EntryFields = { metadata, data: ['ts', 'currState', 'curr_state', 'transition'] };

/** To see whether there is an entry at all. */
export const noFields: EntryFields = { metadata: [], data: [] };
