// Makes safe HTML: a template escapes every value that is not HTML itself.

/** Escapes a text for HTML. Removes control characters and characters that reorder text. */
export function html(text: string): string {
  const plain = text.replace(/(?![\t\n])[\p{Cc}\p{Bidi_Control}]/gu, '');
  return plain.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}

export class Markup {
  readonly text: string;

  /** `text` must be HTML. For anything else use the template `markup`. */
  constructor(text: string) {
    this.text = text;
  }
}

/** HTML is kept, texts are escaped, lists are joined, `false`, null and undefined are left out. */
export type MarkupValue = Markup | string | number | false | null | undefined | readonly MarkupValue[];

/** Tag of HTML templates, as in `markup\`<a href="${address}">\``. Attributes need double quotes. */
export function markup(pieces: TemplateStringsArray, ...values: readonly MarkupValue[]): Markup {
  return new Markup(pieces.reduce((text, piece, i) => text + textOf(values[i - 1]) + piece));
}

function textOf(value: MarkupValue): string {
  if (value instanceof Markup) return value.text;
  if (typeof value === 'string' || typeof value === 'number') return html(String(value));
  return Array.isArray(value) ? value.map(textOf).join('') : '';
}

/** The options of a `select`; `chosen`: the value of the selected option. */
export const optionList = (options: readonly { value: string; words: string }[], chosen?: unknown): Markup[] =>
  options.map(
    ({ value, words }) => markup`<option value="${value}"${value === chosen && markup` selected`}>${words}</option>`,
  );

export const factList = (facts: readonly (readonly [name: string, value: MarkupValue])[]): Markup =>
  markup`<dl class="facts">${facts.map(([name, value]) => markup`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
