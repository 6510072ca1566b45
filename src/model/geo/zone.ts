// Finds the time zone of a location, approximate near borders. Used only if no entry of a user names a zone.
import tzLookup from '@photostructure/tz-lookup';
import type { LatLon } from './distance.ts';

/** The IANA time zone at a location; `UTC` if the table has no zone there. */
export function zoneAt(location: LatLon): string {
  try {
    return tzLookup(location.latitude, location.longitude) || 'UTC';
  } catch {
    return 'UTC';
  }
}
