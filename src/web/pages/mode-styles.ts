// How modes look, on pages and in the terminal: a colour that colour-blind people tell apart, and a dash, a pattern
// and a character, never colour alone.
import { plainMode } from '../../model/plain-mode.ts';

/** The look of a mode. */
export interface ModeStyle {
  /** Class in the page. */
  name: string;
  light: string;
  dark: string;
  /** Width and `stroke-dasharray` of its lines; an empty dash: solid. */
  width: number;
  dash: string;
  /** Width and dash of what runs within its lines in the colour of the paper; absent: nothing. */
  core?: readonly [width: number, dash: string];
  /** What is drawn in the tile of its bars, and the size of the tile; an empty path: all of it. */
  pattern: string;
  tile: readonly [width: number, height: number];
  /** What fills its time in the bar of a terminal. */
  character: string;
  /** Colour of a terminal with 256 of them: 3 to 1 against black and against white. */
  terminal: number;
}

// Any two colours of a theme differ by 20 or more in CIE Lab, for people who see all colours and for those who see no
// red, no green or no blue (Machado 2009); each has a contrast of 4.5 to 1 to its paper. test/pages/diary-page.test.ts
// counts.
/** Every look, in the order of a legend. */
export const modeStyles: readonly ModeStyle[] = [
  {
    name: 'walking',
    ...{ light: '#1e8159', dark: '#3cdaa5', terminal: 29, character: '•' },
    ...{ width: 3.6, dash: '0 5.4', tile: [4, 4], pattern: 'M.65 2a1.35 1.35 0 1 0 2.7 0a1.35 1.35 0 1 0-2.7 0' },
  },
  {
    name: 'bicycling',
    ...{ light: '#0a4e9c', dark: '#98bdff', terminal: 69, character: '▒' },
    ...{ width: 3, dash: '8 3.5', tile: [6, 6], pattern: 'M0 4 4 0h2L0 6zM4 6 6 4v2z' },
  },
  {
    name: 'car',
    ...{ light: '#7d3a0d', dark: '#d58b4b', terminal: 202, character: '█' },
    ...{ width: 4, dash: '', tile: [6, 6], pattern: '' },
  },
  {
    name: 'bus',
    ...{ light: '#cc3e90', dark: '#f46ab6', terminal: 163, character: '▓' },
    ...{ width: 5, dash: '', core: [1.6, ''], tile: [6, 10], pattern: 'M0 0h6v4h-6zM0 6h6v4h-6z' },
  },
  {
    name: 'train',
    ...{ light: '#6736ca', dark: '#a68aff', terminal: 92, character: '═' },
    ...{ width: 5, dash: '', core: [2.4, '5 5'], tile: [5, 6], pattern: 'M0 0h3v6h-3z' },
  },
  {
    name: 'vehicle',
    ...{ light: '#907300', dark: '#e5c34a', terminal: 58, character: '■' },
    ...{ width: 4, dash: '10 3 3 3', tile: [6, 6], pattern: 'M0 0h6v6h-6zM2 2v2h2v-2z' },
  },
  {
    name: 'other',
    ...{ light: '#3b3f46', dark: '#e0e5eb', terminal: 246, character: '┃' },
    ...{ width: 3, dash: '4 7', tile: [5, 5], pattern: 'M0 0h5v1.5h-5zM0 1.5h1.5v3.5h-1.5z' },
  },
];

const rails = new Set(['light_rail', 'subway', 'tram']);

/** The look of a `sensed_mode`. */
export function styleOf(sensedMode: string): ModeStyle {
  return styleOfMode(plainMode(sensedMode));
}

/** The look of a mode in plain words. */
export function styleOfMode(mode: string): ModeStyle {
  const name = rails.has(mode) ? 'train' : mode;
  return modeStyles.find((style) => style.name === name) ?? modeStyles.at(-1)!;
}

/** Rules for the lines and bars of every mode. Paper is white, so prints are light. */
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

/** The patterns of the bars of `names`, and the hatch of drafts, once a page: an SVG without size. */
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

/** The `fill` of a bar of the mode; its pattern must be on the page. */
export const modeFill = ({ name, pattern }: ModeStyle): string => (pattern === '' ? 'var(--c)' : `url(#fill-${name})`);

/** A line of the mode on a map, with what runs within it. `d`: the path. */
export const modeLine = ({ name, core }: ModeStyle, d: string): string =>
  `<path class="way ${name}" d="${d}"/>${core === undefined ? '' : `<path class="core ${name}" d="${d}"/>`}`;
