// One pass over the bytes of a JSON text: how deep it nests, and where one list and its elements stand.

export interface JsonScan {
  /** False when containers nest more than `maxDepth` deep; then the scan ended there. */
  shallow: boolean;
  /** Null when there is no such list, or when it is not certain which one it is. Means something only for a text that is JSON. */
  list: ListPlace | null;
}

/** Where a list stands, as offsets of bytes. */
export interface ListPlace {
  /** Its brackets. */
  open: number;
  close: number;
  /** Of each container in it, the first byte and the one behind its last, in turns. */
  spans: number[];
}

const [quote, backslash, colon, space, bracket] = [0x22, 0x5c, 0x3a, 0x20, 0x5b];
const [opener, closer] = [0x7b, 0x7d]; // braces; brackets are those without the bit 0x20

/**
 * Scans any bytes. `list` names the list: the value that `JSON.parse` takes for the member of that name of the outermost object;
 * null for none. Strings are passed over as a parser does, so that nothing nests deeper for `JSON.parse` than it does here.
 */
export function scanJson(bytes: Buffer, maxDepth: number, list: string | null): JsonScan {
  const end = bytes.length;
  let place: ListPlace | null = null;
  let depth = 0;
  let inList = false;
  let certain = true;
  for (let i = 0; i < end; i++) {
    const byte = bytes[i]!;
    if (byte === quote) {
      const from = i + 1;
      i = endOfString(bytes, from);
      if (depth !== 1 || list === null || !isName(bytes, i)) continue;
      const name = bytes.toString('latin1', from, i);
      if (name.includes('\\')) certain = false; // it may be the name in disguise
      inList = name === list;
      if (inList) place = null; // the last one counts
    } else if (byte < bracket) {
      // Digits, commas, colons, blanks: most of what stands outside strings.
    } else if ((byte | 0x20) === opener) {
      depth++;
      if (depth > maxDepth) return { shallow: false, list: null };
      if (!inList) continue;
      if (depth === 2 && byte === bracket) place = { open: i, close: i, spans: [] };
      else if (depth === 3) place?.spans.push(i);
    } else if ((byte | 0x20) === closer) {
      if (inList && place !== null) {
        if (depth === 3) place.spans.push(i + 1);
        else if (depth === 2) place.close = i;
      }
      depth--;
    }
  }
  return { shallow: true, list: certain ? place : null };
}

/** Offset of the quote that ends a string; of the end of the bytes where there is none. */
function endOfString(bytes: Buffer, from: number): number {
  const end = bytes.length;
  let i = from;
  for (; i < end; i++) {
    const byte = bytes[i]!;
    if (byte === quote) break;
    if (byte === backslash) i++;
  }
  return i;
}

/** True when a colon follows the string that ends at `end`. */
function isName(bytes: Buffer, end: number): boolean {
  let i = end + 1;
  while (i < bytes.length && bytes[i]! <= space) i++;
  return bytes[i] === colon;
}
