// The diary as a page: it shows every trip, needs nothing from outside, and lets no text of people act as HTML.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { noLabels } from '../../../src/diary/labels/load-labels.ts';
import { observedDays } from '../../../src/diary/observed-time.ts';
import { groupPlaces, staysBetweenTrips } from '../../../src/diary/places.ts';
import { namedPlaces } from '../../../src/web/pages/day-items.ts';
import { dayFile } from '../../../src/web/pages/diary-file.ts';
import { type ModeStyle, modeStyles } from '../../../src/web/pages/mode-styles.ts';
import { textsFor } from '../../../src/web/pages/texts/texts.ts';
import { simulatedProgram } from '../../cli/kit.ts';
import { madeTrip } from '../../server/trips.ts';

it('a week of a person is one small page with every trip and without requests for other files', async () => {
  const { folder, json, refuse, succeed } = await simulatedProgram('--users 1 --days 7 --from 2024-03-25 --seed page');
  const user = 'sim-page-1@example.org';
  const asked = `diary --user ${user} --day 2024-03-27`;
  const [first] = (await json(asked)).trips;
  await succeed(['label', '--user', user, '--trip', first.id, '--mode', 'cargo <bike>']);
  const file = join(folder, 'week.html');
  const done = await succeed(`${asked} --week --html ${file}`);
  const page = await readFile(file, 'utf8');
  const trips = Number(/^(\d+) trips/.exec(done.stderr)![1]);
  expect(trips).toBeGreaterThan(10);
  expect(page.match(/<li class="trip"/g)!.length).toBeGreaterThanOrEqual(trips);
  expect(page.match(/<h2 id="d2024-03-(25|26|27|28|29|30|31)">/g)).toHaveLength(7);
  expect(page).not.toMatch(/<script|src=|href="(?!#)|url\((?!#)|@import|http-equiv="refresh"/);
  expect(page).toContain(`default-src 'none'`);
  expect(page).toContain('cargo_&#60;bike&#62;');
  const out = join(folder, 'csv');
  await succeed(`export --user ${user} --format csv --kind trips --out ${out}`);
  expect(await readFile(join(out, 'trips.csv'), 'utf8')).toContain(',cargo_<bike>,');
  expect(page.length / 7).toBeLessThan(20_000);
  await refuse(`${asked} --week`, 'expected --html with --week');
});

it('a name or label cannot act as HTML', async () => {
  const hostile = `</title><script>alert(1)</script>"'&\0\u001b[2J\u202e`;
  const { trip } = madeTrip(0, [{ mode: 'CAR' }], 'UTC');
  const [observed] = observedDays({ links: [], observed: null, zone: 'UTC' }, '1970-01-01', '1970-01-01');
  const inputs = { user_input: { mode_confirm: hostile }, additions: [] };
  const labels = { ...noLabels, ofTrip: () => inputs, ofStay: () => inputs, labelledTrips: 1 };
  const t = textsFor();
  const places = await groupPlaces('u', staysBetweenTrips([trip!]), [{ ts: 300, name: hostile }]);
  const shown = { observed: observed!, trips: [trip!], began: [trip!], labels, placeAt: namedPlaces(places, t, false) };
  const day = { ...shown, before: null, after: null, completeUntil: null, flagged: [], now: 1e9 };
  const page = dayFile(hostile, day, t, [null, null]);
  expect(page).not.toContain('<script');
  expect(page).not.toMatch(/(?![\t\n])[\p{Cc}\p{Bidi_Control}]/u);
  expect(page.match(/&#60;script/g)!.length).toBeGreaterThan(2);
});

/** Linear light of a colour such as `#00a07a`. */
const light = (colour: string): number[] =>
  [1, 3, 5]
    .map((at) => Number.parseInt(colour.slice(at, at + 2), 16) / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));

const times = (rows: number[][], [r, g, b]: number[]): number[] =>
  rows.map(([x, y, z]) => Math.min(1, Math.max(0, x! * r! + y! * g! + z! * b!)));

const matrix = (text: string): number[][] => text.split(', ').map((row) => row.split(' ').map(Number));

/** How people see who have all cones, no red, no green or no blue ones: Machado, Oliveira and Fernandes (2009). */
const eyes = {
  all: matrix('1 0 0, 0 1 0, 0 0 1'),
  'no red': matrix('0.152286 1.052583 -0.204868, 0.114503 0.786281 0.099216, -0.003882 -0.048116 1.051998'),
  'no green': matrix('0.367322 0.860646 -0.227968, 0.280085 0.672501 0.047413, -0.01182 0.04294 0.968881'),
  'no blue': matrix('1.255528 -0.076749 -0.178779, -0.078411 0.930809 0.147602, 0.004733 0.691367 0.3039'),
};
const xyz = matrix('0.4339 0.3763 0.1899, 0.2126 0.7152 0.0722, 0.0177 0.1095 0.8729');

function lab(colour: number[]): number[] {
  const [x, y, z] = times(xyz, colour).map((t) => (t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116));
  return [116 * y! - 16, 500 * (x! - y!), 200 * (y! - z!)];
}

const luminance = (colour: string): number =>
  light(colour).reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i]!, 0);

function contrast(a: string, b: string): number {
  const [dark, bright] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (bright! + 0.05) / (dark! + 0.05);
}

/** A colour of a terminal with 256 of them. */
function ofTerminal(colour: number): string {
  const level = (n: number): number => (n === 0 ? 0 : 55 + 40 * n);
  const n = colour - 16;
  const parts =
    colour >= 232
      ? Array(3).fill(8 + 10 * (colour - 232))
      : [n / 36, (n / 6) % 6, n % 6].map((x) => level(Math.floor(x)));
  return `#${parts.map((part: number) => part.toString(16).padStart(2, '0')).join('')}`;
}

it.each<[where: string, colourOf: (style: ModeStyle) => string, papers: string[], least: number, ratio: number]>([
  ['light pages', (style) => style.light, ['#ffffff'], 19.99, 4.45],
  ['dark pages', (style) => style.dark, ['#121417'], 19.99, 4.5],
  // A terminal may be black or white, which leaves less room.
  ['terminals', (style) => ofTerminal(style.terminal), ['#000000', '#ffffff'], 15, 3],
])('colours of modes on %s have contrast, for colour-blind people too', (_, colourOf, papers, least, ratio) => {
  for (const style of modeStyles)
    for (const paper of papers)
      expect(contrast(colourOf(style), paper), `contrast of ${style.name} to ${paper}`).toBeGreaterThanOrEqual(ratio);
  for (const [eye, seen] of Object.entries(eyes))
    for (const [i, a] of modeStyles.entries())
      for (const b of modeStyles.slice(0, i)) {
        const [left, right] = [a, b].map((style) => lab(times(seen, light(colourOf(style)))));
        const apart = Math.hypot(...left!.map((x, k) => x - right![k]!));
        expect(apart, `CIE Lab from ${a.name} to ${b.name}, cones: ${eye}`).toBeGreaterThan(least);
      }
});

it.each<[string, (style: ModeStyle) => unknown]>([
  ['line', ({ dash, core }) => JSON.stringify([dash, core])],
  ['pattern', ({ pattern }) => pattern],
  ['character', ({ character }) => character],
])('each mode has its own %s', (_, look) => {
  expect(new Set(modeStyles.map(look)).size).toBe(modeStyles.length);
});
