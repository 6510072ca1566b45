// Finds the token near the beginning or the end of a body without parsing the body.

export const searchedLength = 64 * 1024; // bytes at the beginning and the end of a body that are searched

const text = '"(?:[^"\\\\]|\\\\.)*"';
const plain = `(?:${text}|[-+\\w.]+)`; // a text, number, true, false or null
const triesAtEnd = 8; // occurrences of the field's name that are tried, from the end

/**
 * The text of a top-level field near the beginning of a JSON object. null: it is not there, or a list or object
 * precedes it. The body may be invalid or repeat the field, so the caller must compare the result with the parsed body.
 *
 *     {"user": "t1", "phone_to_server": [ …    t1
 *     {"phone_to_server": [ …                  null
 */
export function tokenAtStart(body: Buffer, field: string): string | null {
  const members = new RegExp(
    `^\\s*\\{\\s*(?:(?!"${field}")${text}\\s*:\\s*${plain}\\s*,\\s*)*"${field}"\\s*:\\s*(${text})`,
  );
  return parsed(members.exec(body.toString('latin1', 0, searchedLength))?.[1]);
}

const end = new RegExp(`\\s*:\\s*(${text})\\s*(?:,\\s*${text}\\s*:\\s*${plain}\\s*)*\\}\\s*$`, 'y');

/** Like `tokenAtStart`, near the end of a JSON object. null also if a list or object follows the field. */
export function tokenAtEnd(body: Buffer, field: string): string | null {
  const tail = body.toString('latin1', Math.max(0, body.length - searchedLength));
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

/** Parses a JSON text whose bytes were read as Latin-1; null if that fails. */
function parsed(found = ''): string | null {
  try {
    return JSON.parse(Buffer.from(found, 'latin1').toString('utf8')) as string;
  } catch {
    return null;
  }
}
