// A map drawn from the day's own geometry: no tiles, no network. Equirectangular at the middle latitude.
import type { Position, Trip } from '../model/trip.ts';
import { html } from './html.ts';
import { modeLine, styleOf } from './mode-styles.ts';

const width = 640;
const tallest = 420;
const margin = 24;
const metresPerDegree = 111_195;

/** Units; a vertex nearer than this to the one before is not drawn. */
const visible = 0.8;

/** The map of trips as SVG; empty where there is nothing to draw. */
export function dayMap(trips: readonly Trip[], letterOf: (position: Position) => string): string {
  const lines = trips.flatMap(({ sections }) => sections.map(({ coordinates }) => unwrapped(coordinates)));
  const places = placesOf(trips, letterOf);
  const all = [...lines.flat(), ...places.map(({ position }) => position)];
  if (all.length === 0) return '';
  const view = viewOf(all);
  const paths = trips.flatMap(({ sections }) =>
    sections.map(({ coordinates, sensed_mode }) => {
      const d = pathOf(unwrapped(coordinates), view.project);
      return modeLine(styleOf(sensed_mode), d);
    }),
  );
  const marks = places.map(({ position, letter }) => {
    const [x, y] = view.project(position);
    return `<g class="place"><circle cx="${x}" cy="${y}" r="9"/><text x="${x}" y="${y + 3.5}">${html(letter)}</text></g>`;
  });
  const label = `Map of the ways between ${places.length} places. The table below tells the same.`;
  return (
    `<svg class="map" viewBox="0 0 ${width} ${view.height}" role="img" aria-label="${label}">` +
    `${paths.join('')}${marks.join('')}${scaleBar(view)}</svg>`
  );
}

function placesOf(trips: readonly Trip[], letterOf: (position: Position) => string) {
  const places = new Map<string, Position>();
  for (const { start_loc, end_loc } of trips)
    for (const position of [start_loc, end_loc]) {
      const letter = letterOf(position);
      if (!places.has(letter)) places.set(letter, position);
    }
  return [...places].map(([letter, position]) => ({ letter, position }));
}

/** Longitudes that go on beyond 180 instead of jumping. */
function unwrapped(line: readonly Position[]): Position[] {
  let turn = 0;
  return line.map(([longitude, latitude], i) => {
    const before = line[i - 1]?.[0] ?? longitude;
    if (longitude - before > 180) turn -= 360;
    if (before - longitude > 180) turn += 360;
    return [longitude + turn, latitude];
  });
}

interface View {
  project: (position: Position) => [number, number];
  height: number;
  /** m of one unit of the drawing. */
  metres: number;
}

function viewOf(positions: readonly Position[]): View {
  let [west, south, east, north] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const [longitude, latitude] of positions) {
    west = Math.min(west, longitude);
    east = Math.max(east, longitude);
    south = Math.min(south, latitude);
    north = Math.max(north, latitude);
  }
  const squeeze = Math.max(0.01, Math.cos((((south + north) / 2) * Math.PI) / 180));
  const wide = Math.max((east - west) * squeeze, 0.002);
  const high = Math.max(north - south, 0.001);
  const scale = Math.min((width - 2 * margin) / wide, (tallest - 2 * margin) / high);
  const height = Math.ceil(high * scale + 2 * margin + 16);
  const left = (width - (east - west) * squeeze * scale) / 2;
  const tenth = (x: number): number => Math.round(x * 10) / 10;
  return {
    height,
    metres: metresPerDegree / scale,
    project: ([longitude, latitude]) => [
      tenth(left + (longitude - west) * squeeze * scale),
      tenth(margin + (north - latitude) * scale),
    ],
  };
}

function pathOf(line: readonly Position[], project: View['project']): string {
  let d = '';
  let last: [number, number] | null = null;
  for (const [i, position] of line.entries()) {
    const at = project(position);
    const near = last !== null && Math.hypot(at[0] - last[0], at[1] - last[1]) < visible;
    if (near && i < line.length - 1) continue;
    d += `${last === null ? 'M' : 'L'}${at[0]} ${at[1]}`;
    last = at;
  }
  return d;
}

/** A bar of a round length, at most a third of the map. */
function scaleBar({ metres, height }: View): string {
  const most = (width / 3) * metres;
  const power = 10 ** Math.floor(Math.log10(most));
  const length = [5, 2, 1].map((n) => n * power).find((n) => n <= most)!;
  const units = Math.round((length / metres) * 10) / 10;
  const text = length >= 1000 ? `${length / 1000} km` : `${length} m`;
  const y = height - 8;
  return `<g class="scale"><path d="M${margin} ${y - 4}v4h${units}v-4"/><text x="${margin + units + 6}" y="${y}">${text}</text></g>`;
}
