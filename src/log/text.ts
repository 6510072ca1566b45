// Makes texts from outside (paths, names, keys) safe: they cannot start a line or imitate a field.

const maxMessage = 16_000; // characters of a message
const maxField = 300; // characters of a field

// Line breaks, other control characters, marks of the direction of text, and lone surrogates.
const special = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Cs}]/u;
const breaks = /\r\n|[\t\n\v\f\r\u0085\p{Zl}\p{Zp}]/gu;
const unprintable = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;
const loneSurrogates = /\p{Cs}/gu;

// Most texts are plain ASCII, and these checks are faster than the replacements.
const plainText = /^[ -~]*$/;
const plainWord = /^[!-~]+$/;
const plainField = /^[!#-'*+\--~]+$/; // no quotation mark, round bracket or comma

const escaped = (c: string): string => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`;
const cut = (text: string, length: number): string => (text.length > length ? `${text.slice(0, length - 1)}…` : text);

/**
 * Makes a text fit for one line. Tabs and line breaks become blanks, other control characters become
 * text such as `\u001b`, lone surrogates become U+FFFD. Cuts the text off at 16,000 characters.
 */
export function oneLine(text: string): string {
  const short = cut(text, maxMessage);
  if (plainText.test(short) || !special.test(short)) return short;
  const clean = short.replace(breaks, ' ').replace(unprintable, escaped);
  return cut(clean, maxMessage).replace(loneSurrogates, '\ufffd');
}

/**
 * Makes a text safe for a screen: control characters and marks of the direction of text become text
 * such as `\u001b`. JSON keeps its meaning: `\u001b` in a JSON string is the same character.
 */
export const printable = (text: string): string => text.replace(/(?![\t\n])[\p{Cc}\p{Bidi_Control}]/gu, escaped);

/** Percent-encodes blanks and control characters. An empty text becomes `-`. */
export function word(text: string): string {
  const short = cut(text, maxField);
  if (plainWord.test(short)) return short;
  const clean = short.replace(/[\s\p{Cc}\p{Bidi_Control}]/gu, (c) => encodeURIComponent(c));
  return clean.replace(loneSurrogates, '\ufffd') || '-';
}

/** Removes the query of a path, because the log must not contain it. */
export const pathWord = (path: string): string => word(path.replace(/[?#].*$/s, ''));

/** Returns a word of ASCII without quotes, `(`, `)` and commas as it is, other texts as JSON. */
export function quoted(text: string | null): string {
  if (text === null) return 'null';
  const short = cut(text, maxField);
  return short !== 'null' && plainField.test(short) ? short : safeJson(short);
}

const safeJson = (text: string): string => JSON.stringify(text).replace(unprintable, escaped);

export const listText = (texts: readonly string[]): string =>
  `[${texts.map((text) => safeJson(cut(text, maxField))).join(', ')}]`;

export const secondsText = (seconds: number): string => Math.max(seconds, 0).toFixed(6);

/** A number with its noun: `1 trip`, `2 trips`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en-US')} ${count === 1 ? one : many}`;
}
