// Texts from outside (paths, names, keys) made safe for a log line: nobody can begin a line of their own or forge a
// field.

/**
 * Characters of a message, and of a field within one; the rest is cut off. A reader may count on lines below 64 KiB.
 */
const maxMessage = 16_000;
const maxField = 300;

// Line breaks, other controls, marks that reorder text on a screen, halves of surrogate pairs.
const special = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Cs}]/u;
const breaks = /\r\n|[\t\n\v\f\r\u0085\p{Zl}\p{Zp}]/gu;
const unprintable = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;
const halfPairs = /\p{Cs}/gu;

// Most texts are plain, and this is much faster to find out.
const plainText = /^[ -~]*$/;
const plainWord = /^[!-~]+$/;
const plainField = /^[!#-'*+\--~]+$/;

const escaped = (c: string): string => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`;
const percent = (c: string): string => encodeURIComponent(c);
const cut = (text: string, length: number): string => (text.length > length ? `${text.slice(0, length - 1)}…` : text);

/**
 * `text` as part of one line: tabs and line breaks become blanks, other control characters are shown as `\u001b`,
 * halves of surrogate pairs become U+FFFD. A text without such comes back as it is. Cut at 16,000 characters.
 */
export function oneLine(text: string): string {
  const short = cut(text, maxMessage);
  if (plainText.test(short) || !special.test(short)) return short;
  const clean = short.replace(breaks, ' ').replace(unprintable, escaped);
  return cut(clean, maxMessage).replace(halfPairs, '\ufffd');
}

/** True for a text of which `oneLine` would change nothing but its length, and which is ASCII. */
export const isPlain = (text: string): boolean => plainText.test(text);

const plainLines = /^[ -~\n]*$/;

/**
 * True for a text of so many lines, of which `oneLine` would change none: no message in it has a line break of its own.
 */
export function arePlainLines(text: string, count: number): boolean {
  if (!plainLines.test(text)) return false;
  let lines = 1;
  let start = 0;
  for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
    if (end - start > maxMessage) return false;
    lines += 1;
    start = end + 1;
  }
  return lines === count && text.length - start <= maxMessage;
}

/**
 * `text` as one word: blanks and controls as `%20`, empty as `-`. For methods, paths and ids. Cut at 300 characters.
 */
export function word(text: string): string {
  const short = cut(text, maxField);
  if (plainWord.test(short)) return short;
  const clean = short.replace(/[\s\p{Cc}\p{Bidi_Control}]/gu, percent);
  return clean.replace(halfPairs, '\ufffd') || '-';
}

/** A path as one word, without its query, which the log must not contain. */
export function pathWord(path: string): string {
  return word(path.replace(/[?#].*$/s, ''));
}

/** What `quoted` writes, as part of a pattern. */
export const quotedPattern = String.raw`"(?:[^"\\]|\\.)*"|[^\s",()]+`;

/**
 * A field that may hold anything: as it is if it is one plain word, else as a JSON string; null as `null`. Cut at 300
 * characters.
 */
export function quoted(text: string | null): string {
  if (text === null) return 'null';
  const short = cut(text, maxField);
  if (short === 'null') return '"null"';
  if (plainField.test(short)) return short;
  return /^[^\s",()]+$/.test(short) && !special.test(short) ? short : safeJson(short);
}

/** A text as a JSON string that is safe in a line. */
function safeJson(text: string): string {
  return JSON.stringify(text).replace(unprintable, escaped);
}

/** A list of texts as JSON, `["a", "b"]`. */
export function listText(texts: readonly string[]): string {
  return `[${texts.map((text) => safeJson(cut(text, maxField))).join(', ')}]`;
}

/** Seconds with six decimals, never below zero. */
export function secondsText(seconds: number): string {
  return (seconds > 0 ? seconds : 0).toFixed(6);
}
