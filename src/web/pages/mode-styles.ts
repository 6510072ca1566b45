// Lines, bars and patterns of the modes on pages, in the looks of `model/modes.ts`.
import { type ModeLook, modeLook, plainMode, travelModes } from '../../model/modes.ts';

/** The look of a mode. `name`: the class in the page. */
export type ModeStyle = ModeLook & { name: string };

export const modeStyles: readonly ModeStyle[] = travelModes
  .map(({ name }) => modeLook(name))
  .filter(({ name }, i) => name === travelModes[i]!.name);

export const styleOf = (sensedMode: string): ModeStyle => modeLook(plainMode(sensedMode));

/** CSS for the lines and bars of all modes. Paper is white, so prints use the light colours. */
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

/** An SVG without size with the patterns for the bars of `names` and for drafts. A page must contain it once. */
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

/** The `fill` of a bar of the mode. The page must contain its pattern. */
export const modeFill = ({ name, pattern }: ModeStyle): string => (pattern === '' ? 'var(--c)' : `url(#fill-${name})`);

/** A line of the mode on a map, with its inner line if it has one. `d`: the SVG path. */
export const modeLine = ({ name, core }: ModeStyle, d: string): string =>
  `<path class="way ${name}" d="${d}"/>${core === undefined ? '' : `<path class="core ${name}" d="${d}"/>`}`;
