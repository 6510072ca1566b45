// Who sends a body, by a bounded look at its text: the token before or behind the long list, found without parsing the
// body.

/** Bytes at the beginning and at the end of a body in which the token is looked for. */
export const lookLength = 64 * 1024;

const quote = 0x22;
const backslash = 0x5c;
const isBlank = (byte: number): boolean => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);

/**
 * The text of a top-level field in the first bytes of a JSON object; null where it is not there. What is found is no
 * more than a hint: the body may turn out to be no JSON, or to have another such field later, so the caller compares
 * when it has been parsed.
 */
export function tokenAtStart(body: Buffer, field: string): string | null {
  const end = Math.min(body.length, lookLength);
  let depth = 0;
  let name: string | null = null; // of the member whose value comes next
  for (let i = 0; i < end; i++) {
    const byte = body[i]!;
    if (byte === quote) {
      const close = endOfString(body, i, end);
      if (close === -1) return null;
      if (depth === 1) {
        if (name === field) return textOf(body, i, close);
        name = nextIs(body, close, end, 0x3a) ? textOf(body, i, close) : null;
      }
      i = close - 1;
    } else if (byte === 0x7b || byte === 0x5b) {
      depth += 1;
    } else if (byte === 0x7d || byte === 0x5d) {
      depth -= 1;
    } else if (byte === 0x2c && depth === 1) {
      name = null;
    }
  }
  return null;
}

const rest = /\s*:\s*("(?:[^"\\]|\\.)*")\s*(?:,\s*"(?:[^"\\]|\\.)*"\s*:\s*(?:"(?:[^"\\]|\\.)*"|[-+\w.]+)\s*)*\}\s*$/y;
const triesAtEnd = 8; // places with the name of the field that are looked at, from the end

/** As `tokenAtStart`, for the last bytes: a field after which only plain values come. */
export function tokenAtEnd(body: Buffer, field: string): string | null {
  const start = Math.max(0, body.length - lookLength);
  const tail = body.toString('latin1', start);
  const name = JSON.stringify(field);
  let at = tail.length;
  for (let tries = 0; tries < triesAtEnd; tries += 1) {
    at = at === 0 ? -1 : tail.lastIndexOf(name, at - 1);
    if (at === -1) return null;
    rest.lastIndex = at + name.length;
    const found = rest.exec(tail)?.[1];
    if (found !== undefined) return parsed(Buffer.from(found, 'latin1').toString('utf8'));
  }
  return null;
}

/** The position after the closing quote; -1 if there is none before `end`. */
function endOfString(body: Buffer, open: number, end: number): number {
  for (let i = open + 1; i < end; i++) {
    if (body[i] === backslash) i += 1;
    else if (body[i] === quote) return i + 1;
  }
  return -1;
}

function nextIs(body: Buffer, from: number, end: number, wanted: number): boolean {
  let i = from;
  while (i < end && isBlank(body[i]!)) i += 1;
  return i < end && body[i] === wanted;
}

const textOf = (body: Buffer, open: number, close: number): string | null => parsed(body.toString('utf8', open, close));

function parsed(text: string): string | null {
  try {
    return JSON.parse(text) as string;
  } catch {
    return null;
  }
}
