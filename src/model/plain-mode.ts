// Modes in plain words.

const words: Record<string, string> = {
  WALKING: 'walking',
  ON_FOOT: 'walking',
  RUNNING: 'walking',
  BICYCLING: 'bicycling',
  ON_BICYCLE: 'bicycling',
  IN_VEHICLE: 'vehicle',
  STOPPED_WHILE_IN_VEHICLE: 'vehicle',
  AIR_OR_HSR: 'air',
  STILL: 'still',
  TILTING: 'unknown',
  NONE: 'unknown',
  NO_SENSED: 'unknown',
};

/** `PredictedModeTypes.LIGHT_RAIL` -> `light_rail`, `MotionTypes.IN_VEHICLE` -> `vehicle`. */
export function plainMode(sensedMode: string): string {
  const name = sensedMode.slice(sensedMode.lastIndexOf('.') + 1).toUpperCase();
  return words[name] ?? name.toLowerCase();
}

/** The column of `days` to which the way of a mode counts. */
export function modeGroup(mode: string): 'walking_m' | 'bicycling_m' | 'car_m' | 'public_transport_m' | 'other_m' {
  if (mode === 'walking') return 'walking_m';
  if (mode === 'bicycling') return 'bicycling_m';
  if (mode === 'car') return 'car_m';
  return ['bus', 'train', 'light_rail', 'subway', 'tram'].includes(mode) ? 'public_transport_m' : 'other_m';
}
