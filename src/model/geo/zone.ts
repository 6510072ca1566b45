// Zones are approximate near borders. They are used if entries name no zone.
import tzLookup from '@photostructure/tz-lookup';
import type { LatLon } from './distance.ts';

export function zoneAt(location: LatLon): string {
  try {
    return tzLookup(location.latitude, location.longitude) || 'UTC';
  } catch {
    return 'UTC';
  }
}
