// Draws modes as lines, bars, patterns and icons, in the looks of `model/modes.ts`.
import { type LookName, type ModeLook, modeLook, plainMode, travelModes } from '../../model/modes.ts';
import { Markup } from './markup.ts';

export type ModeStyle = ModeLook & { name: string };

export const modeStyles: readonly ModeStyle[] = travelModes
  .map(({ name }) => modeLook(name))
  .filter(({ name }, i) => name === travelModes[i]!.name);

export const styleOf = (sensedMode: string): ModeStyle => modeLook(plainMode(sensedMode));

/** Returns CSS rules. Prints use the light colours, because paper is white. */
export function modeRules(): string {
  const colours = (which: 'light' | 'dark'): string => modeStyles.map((s) => `--${s.name}:${s[which]}`).join(';');
  const dashed = (dash: string): string => (dash === '' ? '' : `;stroke-dasharray:${dash}`);
  const rules = modeStyles.map(
    ({ name, width, dash, core }) =>
      `.${name}{--c:var(--${name})}.way.${name}{stroke-width:${width}${dashed(dash)}}` +
      (core === undefined ? '' : `.core.${name}{stroke-width:${core[0]}${dashed(core[1])}}`),
  );
  return (
    `:root{${colours('light')}}@media screen and (prefers-color-scheme:dark){:root{${colours('dark')}}}` +
    `.way.walking{stroke-linecap:round}${rules.join('')}`
  );
}

/** Draws the patterns of modes and of drafts. A page must contain the patterns once. */
export function modePatterns(names: ReadonlySet<string>): string {
  const patterns = modeStyles
    .filter(({ name, pattern }) => names.has(name) && pattern !== '')
    .map(
      ({ name, pattern, tile: [width, height] }) =>
        `<pattern id="fill-${name}" width="${width}" height="${height}" patternUnits="userSpaceOnUse">` +
        `<path class="tile" d="M0 0h${width}v${height}h-${width}z"/><path class="pt ${name}" d="${pattern}"/></pattern>`,
    );
  const draft =
    '<pattern id="draft" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path class="tile" d="M0 0h3v6h-3z"/></pattern>';
  return `<svg class="patterns" width="0" height="0" aria-hidden="true"><defs>${patterns.join('')}${draft}</defs></svg>`;
}

/** The page must contain the pattern of the mode. */
export const modeFill = ({ name, pattern }: ModeStyle): string => (pattern === '' ? 'var(--c)' : `url(#fill-${name})`);

export const modeLine = ({ name, core }: ModeStyle, d: string): string =>
  `<path class="way ${name}" d="${d}"/>${core === undefined ? '' : `<path class="core ${name}" d="${d}"/>`}`;

const person = '<circle class="f" cx="11" cy="3.4" r="1.9"/>';
const wheels = '<circle class="f" cx="6.6" cy="12.4" r="1.1"/><circle class="f" cx="13.4" cy="12.4" r="1.1"/>';
const drawings = {
  walking: `${person}<path d="M10.6 7.4 9 12l3 2.4.8 4M9 12l-.8 2.8L5.6 18M10.6 7.4l1.6 2.8 3 .8M10.6 7.4 7.4 8.6 6.2 11.4"/>`,
  bicycling:
    '<circle cx="5" cy="13" r="3.2"/><circle cx="15" cy="13" r="3.2"/><path d="m5 13 3-6h5l2 6M8 7l3 6H5M12 4.5h2"/>',
  bus: `<rect x="3.4" y="2.8" width="13.2" height="12.4" rx="2"/><path d="M3.4 9.6h13.2M6 15.4v2M14 15.4v2"/>${wheels}`,
  car: `<path d="M3 14.5v-4l2-5h10l2 5v4zM3.4 10h13.2M5 14.8v2M15 14.8v2"/>${wheels}`,
  train: `<rect x="4.4" y="2.6" width="11.2" height="12" rx="3"/><path d="M4.4 9h11.2M7 15l-2 2.6M13 15l2 2.6"/>${wheels}`,
  vehicle:
    '<path d="M2.6 14V7h9v7zM11.6 9h3.4l2.4 2.6V14h-5.8z"/><circle cx="6" cy="14.6" r="1.7"/><circle cx="14.4" cy="14.6" r="1.7"/>',
  other: '<path d="M3.5 10h13M12 5.5l4.5 4.5-4.5 4.5"/>',
  waiting: '<circle cx="10" cy="10" r="6.6"/><path d="M10 6.2V10l2.4 1.8"/>',
  yes: '<path d="m4 10.5 4 4 8-9"/>',
  no: '<path d="m5 5 10 10M15 5 5 15"/>',
} satisfies Record<LookName | 'waiting' | 'yes' | 'no', string>;

export const icon = (name: string): Markup =>
  new Markup(
    `<svg class="ic ${name}" viewBox="0 0 20 20" aria-hidden="true">${drawings[name as keyof typeof drawings] ?? drawings.other}</svg>`,
  );
