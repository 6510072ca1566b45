// Looks up time zones for entries that name none. The zones are approximate near borders.
import tzLookup from '@photostructure/tz-lookup';
import type { LatLon } from './distance.ts';

export function zoneAt(location: LatLon): string {
  try {
    return tzLookup(location.latitude, location.longitude) || 'UTC';
  } catch {
    return 'UTC';
  }
}
