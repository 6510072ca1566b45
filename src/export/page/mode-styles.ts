// How modes look: a colour that colour-blind people tell apart, and a dash, never colour alone.
import { plainMode } from '../../model/plain-mode.ts';

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
}

/** Hues of Okabe and Ito (2008), darkened for white and lightened for black to a contrast of 3 to 1. */
const styles: readonly ModeStyle[] = [
  { name: 'walking', words: 'walking', light: '#007a5a', dark: '#2fc79a', dash: '1 4' },
  { name: 'bicycling', words: 'bicycling', light: '#0065a3', dark: '#5fb4ea', dash: '7 3' },
  { name: 'car', words: 'car', light: '#c04e00', dark: '#ff9a4d', dash: '' },
  { name: 'bus', words: 'bus', light: '#a8467f', dark: '#e59ac6', dash: '12 3 2 3' },
  { name: 'train', words: 'train', light: '#4b4b9b', dark: '#b0b0f5', dash: '14 5' },
  { name: 'vehicle', words: 'vehicle', light: '#8a6500', dark: '#e8c04a', dash: '' },
  { name: 'other', words: 'other', light: '#666666', dark: '#b0b0b0', dash: '4 4' },
];

const rails = new Set(['light_rail', 'subway', 'tram']);

/** The look of a `sensed_mode`. */
export function styleOf(sensedMode: string): ModeStyle {
  const mode = plainMode(sensedMode);
  const name = rails.has(mode) ? 'train' : mode;
  return styles.find((style) => style.name === name) ?? styles.at(-1)!;
}

/** Rules for the lines and bars of every mode. */
export function modeRules(): string {
  const colours = (which: 'light' | 'dark'): string => styles.map((s) => `--${s.name}:${s[which]}`).join(';');
  const rules = styles.map((s) => `.${s.name}{--c:var(--${s.name})${s.dash && `;stroke-dasharray:${s.dash}`}}`);
  return `:root{${colours('light')}}@media(prefers-color-scheme:dark){:root{${colours('dark')}}}${rules.join('')}`;
}
