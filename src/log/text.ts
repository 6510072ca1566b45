// Makes texts from outside (paths, names, keys) safe for a log line: they can neither start a new line nor imitate a
// field.

// The most characters of a message, and of a field. Longer texts are cut off.
const maxMessage = 16_000;
const maxField = 300;

// Line breaks, other control characters, marks that reorder text on a screen, and lone surrogates.
const special = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Cs}]/u;
const breaks = /\r\n|[\t\n\v\f\r\u0085\p{Zl}\p{Zp}]/gu;
const unprintable = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;
const loneSurrogates = /\p{Cs}/gu;

// Most texts are plain; these checks are much faster.
const plainText = /^[ -~]*$/;
const plainWord = /^[!-~]+$/;
const plainField = /^[!#-'*+\--~]+$/; // no quotation mark, bracket or comma

const escaped = (c: string): string => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`;
const cut = (text: string, length: number): string => (text.length > length ? `${text.slice(0, length - 1)}…` : text);

/**
 * `text` as part of one line. Tabs and line breaks become blanks, other control characters become text such as
 * `\u001b`, lone surrogates become U+FFFD. Cut off at 16,000 characters.
 */
export function oneLine(text: string): string {
  const short = cut(text, maxMessage);
  if (plainText.test(short) || !special.test(short)) return short;
  const clean = short.replace(breaks, ' ').replace(unprintable, escaped);
  return cut(clean, maxMessage).replace(loneSurrogates, '\ufffd');
}

/**
 * `text` for a screen. Control characters and marks that reorder text become text such as `\u001b`. Line breaks and
 * tabs stay. JSON keeps its meaning.
 */
export const printable = (text: string): string => text.replace(/(?![\t\n])[\p{Cc}\p{Bidi_Control}]/gu, escaped);

/**
 * `text` as one word. Blanks and control characters become `%20` and the like, an empty text becomes `-`. Cut off at
 * 300 characters.
 */
export function word(text: string): string {
  const short = cut(text, maxField);
  if (plainWord.test(short)) return short;
  const clean = short.replace(/[\s\p{Cc}\p{Bidi_Control}]/gu, (c) => encodeURIComponent(c));
  return clean.replace(loneSurrogates, '\ufffd') || '-';
}

/** A path as one word, without its query, which the log must not contain. */
export const pathWord = (path: string): string => word(path.replace(/[?#].*$/s, ''));

/**
 * A text as a field: a word of plain ASCII stays as it is, other texts become JSON, null becomes `null`. Cut off at 300
 * characters.
 */
export function quoted(text: string | null): string {
  if (text === null) return 'null';
  const short = cut(text, maxField);
  return short !== 'null' && plainField.test(short) ? short : safeJson(short);
}

const safeJson = (text: string): string => JSON.stringify(text).replace(unprintable, escaped);

/** A list of texts as JSON: `["a", "b"]`. */
export const listText = (texts: readonly string[]): string =>
  `[${texts.map((text) => safeJson(cut(text, maxField))).join(', ')}]`;

/** Seconds with six decimals, never below zero. */
export const secondsText = (seconds: number): string => Math.max(seconds, 0).toFixed(6);

/** `1 trip`, `2 trips`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en-US')} ${count === 1 ? one : many}`;
}
