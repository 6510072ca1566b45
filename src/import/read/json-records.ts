// JSON of any size -> its records, be they elements of lists, lines, or the one object that the file is.
import { isJsonObject, type JsonObject, type JsonValue } from '../../model/json.ts';
import type { SourceFile } from '../source.ts';
import { SourceBroken } from '../source-error.ts';
import { jsonElements, maxElementBytes } from './json-elements.ts';
import { fileLines } from './lines.ts';

/** A record, or the reason why something is none. */
export type JsonRecord =
  | {
      value: JsonValue;
      /** Characters of its text. */
      length: number;
      /** The member of the outermost object whose list has it; null: no such member. */
      of: string | null;
      /** The place in the file, for messages. */
      where: string;
    }
  | { unread: string };

/** The JSON of a line; null for a line that holds none. */
const textOfLine = (line: string): string | null => (line.trim() === '' ? null : line);

/**
 * The records of a file. `isRecord` distinguishes lines of records, and a record over several lines, from a value that
 * holds lists of them; without it, there are lists only. `textOf`: as `textOfLine`.
 */
export async function* jsonRecords(
  file: SourceFile,
  onBytes: (count: number) => void,
  isRecord: (value: JsonObject) => boolean = () => false,
  textOf = textOfLine,
): AsyncGenerator<JsonRecord> {
  const lines = file.head
    .toString('utf8')
    .replace(/^\ufeff/, '')
    .split('\n');
  const first = lines.find((line) => textOf(line.trimEnd()) !== null);
  const value = first === undefined ? undefined : jsonIn(textOf(first.trimEnd())!);
  if (isJsonObject(value) && isRecord(value)) return yield* jsonLines(file, onBytes, textOf);
  const single: JsonObject = {};
  let length = 0;
  for await (const { of, listed, text, reason, offset } of jsonElements(file.bytes(onBytes))) {
    if (text === null) yield { unread: `the element at byte ${offset} is ${reason}` };
    else if (listed) yield recordIn(text, of, `byte ${offset}`);
    else if (of !== null) {
      length += of.length + text.length;
      if (length > maxElementBytes) throw new SourceBroken(`expected an object of at most ${maxElementBytes} bytes`);
      single[of] = jsonIn(text) ?? null;
    }
  }
  if (isRecord(single)) yield { value: single, length, of: null, where: 'byte 0' };
}

/** The records of a file that has one on each line. */
export async function* jsonLines(
  file: SourceFile,
  onBytes: (count: number) => void,
  textOf = textOfLine,
): AsyncGenerator<JsonRecord> {
  for await (const { text, number } of fileLines(file.bytes(onBytes))) {
    const line = textOf(text);
    if (line !== null) yield recordIn(line, null, `line ${number}`);
  }
}

/** True for a file that is one list. */
export const isJsonList = ({ head }: SourceFile): boolean => /^\ufeff?\s*\[/.test(head.toString('utf8'));

function recordIn(text: string, of: string | null, where: string): JsonRecord {
  const value = jsonIn(text);
  if (value === undefined) return { unread: `expected JSON at ${where}, found something else` };
  return { value, length: text.length, of, where };
}

function jsonIn(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined; // reported without a piece of it, which may contain a place
  }
}
