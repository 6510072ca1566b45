import type { Entry, Metadata } from '../model/entry.ts';
import type { JsonObject } from '../model/json.ts';
import { keys } from '../model/keys.ts';
import { rounded } from './receiver.ts';

type RowType = 'sensor-data' | 'message' | 'rw-document';

export type Notebook = ReturnType<typeof openNotebook>;

export function openNotebook(platform: 'android' | 'ios', zone: string) {
  const written: Entry[] = [];
  const lastOf = new Map<string, number>();
  const digits = platform === 'android' ? 3 : 5;
  return {
    /** Entries of one key always get different `write_ts`. */
    write: (type: RowType, key: string, writeTs: number, data: JsonObject): void => {
      const write_ts = rounded(Math.max(writeTs, (lastOf.get(key) ?? 0) + 0.001), digits);
      lastOf.set(key, write_ts);
      const metadata: Metadata = { key, type, platform, write_ts, read_ts: 0, time_zone: zone };
      if (platform === 'ios') metadata.plugin = 'none';
      written.push({ metadata, data });
    },
    entries: (): Entry[] => written.toSorted((a, b) => a.metadata.write_ts - b.metadata.write_ts),
  };
}

/** A phone sends its settings with every push. `sensing`: settings of the platform. */
export function writeSettings(notes: Notebook, at: number, sensing: JsonObject): void {
  notes.write('rw-document', keys.consent, at, {
    category: 'emSensorDataCollectionProtocol',
    protocol_id: 'simulated-study',
    approval_date: '2016-07-14',
  });
  notes.write('rw-document', keys.sensorConfig, at + 0.01, {
    is_duty_cycling: true,
    simulate_user_interaction: false,
    accuracy_threshold: 200,
    geofence_radius: 100,
    ios_use_visit_notifications_for_detection: true,
    ios_use_remote_push_for_sync: true,
    ...sensing,
  });
  notes.write('rw-document', keys.syncConfig, at + 0.02, { sync_interval: 3600, ios_use_remote_push: true });
}
