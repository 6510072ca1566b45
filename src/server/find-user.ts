// Finds the token at the beginning or the end of a body, without parsing the body.

/** Bytes at the beginning and at the end of a body that are searched for the token. */
export const lookLength = 64 * 1024;

const text = '"(?:[^"\\\\]|\\\\.)*"';
const plain = `(?:${text}|[-+\\w.]+)`; // a text, number, true, false or null
const triesAtEnd = 8; // places with the name of the field that are tried, from the end

/**
 * The text of a top-level field among the plain values that begin a JSON object; null if it is not there. The result is
 * a hint: the body may be no JSON, or have such a field again, so the caller compares when it has been parsed.
 */
export function tokenAtStart(body: Buffer, field: string): string | null {
  const members = new RegExp(
    `^\\s*\\{\\s*(?:(?!"${field}")${text}\\s*:\\s*${plain}\\s*,\\s*)*"${field}"\\s*:\\s*(${text})`,
  );
  return parsed(members.exec(body.toString('latin1', 0, lookLength))?.[1]);
}

const end = new RegExp(`\\s*:\\s*(${text})\\s*(?:,\\s*${text}\\s*:\\s*${plain}\\s*)*\\}\\s*$`, 'y');

/** As `tokenAtStart`, for the plain values that end a JSON object. */
export function tokenAtEnd(body: Buffer, field: string): string | null {
  const tail = body.toString('latin1', Math.max(0, body.length - lookLength));
  const name = `"${field}"`;
  let at = tail.length;
  for (let tries = 0; tries < triesAtEnd; tries += 1) {
    at = at === 0 ? -1 : tail.lastIndexOf(name, at - 1);
    if (at === -1) return null;
    end.lastIndex = at + name.length;
    const found = end.exec(tail)?.[1];
    if (found !== undefined) return parsed(found);
  }
  return null;
}

/** The value of a JSON text whose bytes were read as Latin-1; null if there is none. */
function parsed(found: string | undefined): string | null {
  try {
    return found === undefined ? null : (JSON.parse(Buffer.from(found, 'latin1').toString('utf8')) as string);
  } catch {
    return null;
  }
}
