import { formatForPeople, maxTime, minTime } from '../model/time.ts';

/** Formats metres as `350 m`, `4.2 km` or `128 km`. */
export function distanceText(metres: number): string {
  if (metres < 995) return `${Math.round(metres / 10) * 10} m`;
  const km = metres / 1000;
  return `${km < 99.95 ? km.toFixed(1) : Math.round(km)} km`;
}

/** Formats seconds as `42 s`, `8 min`, `1 h 5 min`, `2 h` or `3 d 4 h`. */
export function durationText(seconds: number): string {
  if (seconds < 59.5) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

export const clockText = (ts: number, zone: string): string => formatForPeople(ts, zone, 'HH:mm');

/** Formats a time. A number outside the calendar becomes `1e30 s`: a phone may write any number. */
export function minuteText(ts: number, zone: string): string {
  if (!(ts >= minTime && ts <= maxTime)) return `${ts} s`;
  return formatForPeople(ts, zone, 'YYYY-MM-DD HH:mm');
}

export function agoText(ts: number, now: number): string {
  if (ts > now) return 'in the future';
  const days = Math.floor((now - ts) / 86_400);
  return days < 14 ? `${durationText(now - ts)} ago` : `${days} days ago`;
}
