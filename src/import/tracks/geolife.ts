// Reads GeoLife: trajectories (`.plt`), and modes that participants recorded (`labels.txt`).
import { otherEntry } from '../../intake/apps/other-entry.ts';
import { keys } from '../../model/keys.ts';
import type { FileFormat, Found, SourceReadOptions } from '../import-format.ts';
import { fileLines } from '../read/bytes.ts';
import type { SourceFile } from '../source.ts';
import { instantIn, locate } from './fields.ts';

const headerLines = 6;
const metresPerFoot = 0.3048;
const unknownAltitude = -777; // feet

const origin = { program: 'geolife' };

export const geolife: FileFormat = {
  name: 'geolife',
  recognises: ({ head }) => isTrajectory(head) || isLabels(head),
  read: (file, options) => (isLabels(file.head) ? readLabels(file, options) : readTrajectory(file, options)),
};

const isTrajectory = (head: Buffer): boolean => /^\ufeff?Geolife trajectory\s/i.test(head.toString('utf8'));
const isLabels = (head: Buffer): boolean =>
  /^\ufeff?Start Time\tEnd Time\tTransportation Mode\s/i.test(head.toString('utf8'));

/** A line: latitude, longitude, 0, altitude in feet, days since 1899, day, time of day in GMT */
async function* readTrajectory(file: SourceFile, { onBytes }: SourceReadOptions): AsyncGenerator<Found> {
  for await (const { text, number } of fileLines(file.bytes(onBytes))) {
    if (number <= headerLines || text.trim() === '') continue;
    const [latitude, longitude, , feet, , day, time] = text.split(',', 7);
    const altitude = Number(feet) === unknownAltitude ? undefined : Number(feet) * metresPerFoot;
    const position = { latitude, longitude, altitude, time: `${day}T${time}` };
    yield locate({}, {}, { origin, where: `line ${number}`, zone: 'UTC' }, position);
  }
}

async function* readLabels(file: SourceFile, { onBytes }: SourceReadOptions): AsyncGenerator<Found> {
  for await (const { text, number } of fileLines(file.bytes(onBytes))) {
    if (number === 1 || text.trim() === '') continue;
    const [start, end, label = ''] = text.split('\t', 3).map((one) => one.trim());
    const [start_ts, end_ts] = [instantIn(start, 'UTC'), instantIn(end, 'UTC')];
    if (start_ts === null || end_ts === null || label === '') {
      yield { unread: `expected start, end and mode at line ${number}, found a missing or unreadable field` };
      continue;
    }
    const entry = otherEntry(keys.modeConfirm, end_ts, { start_ts, end_ts, label }, origin);
    yield { owner: null, entry: { ...entry, metadata: { ...entry.metadata, type: 'message' } } };
  }
}
