// How modes look, on pages and in the terminal: a colour that colour-blind people tell apart, and a dash, a pattern
// and a character, never colour alone.
import { plainMode } from '../model/plain-mode.ts';

/** The look of a mode. */
export interface ModeStyle {
  /** Class in the page. */
  name: string;
  /** What people read. */
  words: string;
  light: string;
  dark: string;
  /** `stroke-dasharray` of its lines; empty: solid. */
  dash: string;
  /** What is cut out of the colour of its bars, in a tile of 6 by 6; empty: nothing. */
  pattern: string;
  /** What fills its time in the bar of a terminal. */
  character: string;
  /** Colour of a terminal with 256 of them: 3 to 1 against black and against white. */
  terminal: number;
}

// Any two colours of a theme differ by 20 or more in CIE Lab, for people who see all colours and for those who see no
// red, no green or no blue (Machado 2009); each has a contrast of 3 to 1 to its paper. test/pages/diary-page.test.ts
// counts.
/** Every look, in the order of a legend. */
export const modeStyles: readonly ModeStyle[] = [
  {
    name: 'walking',
    words: 'walking',
    ...{ light: '#00a07a', dark: '#3cf0a0', terminal: 29 },
    ...{ dash: '2 3', pattern: 'M0 0h6v6h-6zM1 1v4h4v-4z', character: '•' },
  },
  {
    name: 'bicycling',
    words: 'bicycling',
    ...{ light: '#10527a', dark: '#98b4ff', terminal: 69 },
    ...{ dash: '8 4', pattern: 'M0 0h3l-3 3zM6 0v3l-3 3h-3z', character: '▒' },
  },
  {
    name: 'car',
    words: 'car',
    ...{ light: '#8a3200', dark: '#c8702c', terminal: 202 },
    ...{ dash: '', pattern: '', character: '█' },
  },
  {
    name: 'bus',
    words: 'bus',
    ...{ light: '#e04fc0', dark: '#f03a96', terminal: 163 },
    ...{ dash: '12 4 2 4', pattern: 'M4 0h2v6h-2z', character: '▓' },
  },
  {
    name: 'train',
    words: 'train',
    ...{ light: '#7d22d6', dark: '#985afd', terminal: 92 },
    ...{ dash: '16 6', pattern: 'M0 2h6v2h-6z', character: '═' },
  },
  {
    name: 'vehicle',
    words: 'vehicle',
    ...{ light: '#a88c14', dark: '#f0c716', terminal: 58 },
    ...{ dash: '8 3 2 3 2 3', pattern: 'M2 2h3v3h-3z', character: '■' },
  },
  {
    name: 'other',
    words: 'other',
    ...{ light: '#1c1c1c', dark: '#f4f4f4', terminal: 246 },
    ...{ dash: '3 7', pattern: 'M0 0h4v6h-4z', character: '┃' },
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
  const rules = modeStyles.map(
    (s) =>
      `.${s.name}{--c:var(--${s.name})}${s.dash && `.way.${s.name}{stroke-dasharray:${s.dash}}`}` +
      `.on.${s.name}{fill:${s.pattern === '' ? 'var(--c)' : `url(#fill-${s.name})`}}`,
  );
  return (
    `:root{${colours('light')}}@media screen and (prefers-color-scheme:dark){:root{${colours('dark')}}}` +
    rules.join('')
  );
}

/** The patterns of the bars of `names`, once a page: an SVG without size. */
export function modePatterns(names: ReadonlySet<string>): string {
  const patterns = modeStyles
    .filter(({ name, pattern }) => names.has(name) && pattern !== '')
    .map(
      ({ name, pattern }) =>
        `<pattern id="fill-${name}" width="6" height="6" patternUnits="userSpaceOnUse">` +
        `<path class="tile ${name}" d="M0 0h6v6h-6z"/><path class="cut" d="${pattern}"/></pattern>`,
    );
  return `<svg class="patterns" width="0" height="0" aria-hidden="true"><defs>${patterns.join('')}</defs></svg>`;
}

/** What stands for a mode in a legend: its bar, and its line on the map. */
export function modeKey({ name, words }: ModeStyle): string {
  return (
    `<span class="key"><svg viewBox="0 0 60 12" aria-hidden="true"><rect class="on ${name}" width="24" height="12"/>` +
    `<path class="way ${name}" d="M29 6h30"/></svg>${words}</span>`
  );
}
