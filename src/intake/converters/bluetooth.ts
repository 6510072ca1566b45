// Converts readings of Bluetooth beacons, which are the same on both platforms.
import type { Entry } from '../../model/entry.ts';
import { beaconEvents } from '../../model/payloads.ts';
import { checkNumber, checkText, nameOrCode, timeOf } from './checks.ts';
import { type Conversion, withTime } from './conversion.ts';

const events = new Map<string, number>(Object.entries(beaconEvents));

/** Units: `accuracy` m to the beacon, often -1 for an unknown distance; `rssi` dBm. */
export function convertBluetooth(entry: Entry): Conversion {
  const { data } = entry;
  const eventType = nameOrCode(events, data.eventType, 'data.eventType');
  const ts = timeOf(data.ts, 'data.ts');
  for (const name of ['uuid', 'proximity']) checkText(data[name], `data.${name}`);
  for (const name of ['major', 'minor', 'accuracy', 'rssi']) checkNumber(data[name], `data.${name}`);
  return withTime(entry, ts, { eventType });
}
