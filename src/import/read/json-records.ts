// Reads JSON of any size: the elements of lists, the lines, or the single object of a file.
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '../../model/json.ts';
import type { SourceFile } from '../source.ts';
import { refuseBeyond } from '../source-error.ts';
import { fileLines, type OnBytes } from './bytes.ts';
import { jsonElements, maxElementBytes } from './json-elements.ts';

export type JsonRecord =
  | {
      value: JsonValue;
      length: number;
      /** Name of the list that has the record: `points` in `{"points": [record]}`; null: none. */
      member: string | null;
      where: string;
    }
  | { unread: string };

type Records = AsyncGenerator<JsonRecord>;

const textOfLine = (line: string): string | null => (line.trim() === '' ? null : line);
const never = (_: JsonObject): boolean => false;

/**
 * `isRecord`: true for an object that is a record, on one line or over several lines; other objects
 * contain lists of records. Default: always false. `textOf`: extracts the JSON of a line.
 *
 *     {"t":1} (line) {"t":2}           ->  {"t":1}, {"t":2}            if `isRecord` of them is true
 *     {"points":[{"t":1},{"t":2}]}     ->  {"t":1}, {"t":2}            member `points`
 *     [{"t":1},{"t":2}]                ->  {"t":1}, {"t":2}            member null
 */
export async function* jsonRecords(file: SourceFile, onBytes: OnBytes, isRecord = never, textOf = textOfLine): Records {
  const lines = file.head
    .toString('utf8')
    .replace(/^\ufeff/, '')
    .split('\n');
  const first = lines.find((line) => textOf(line.trimEnd()) !== null);
  const value = first === undefined ? undefined : parseJson(textOf(first.trimEnd())!);
  if (isJsonObject(value) && isRecord(value)) return yield* jsonLines(file, onBytes, textOf);
  const single: JsonObject = {};
  let length = 0;
  for await (const { member, listed, text, reason, offset } of jsonElements(file.bytes(onBytes))) {
    if (text === null) yield { unread: `expected a shorter or flatter element at byte ${offset}, found one ${reason}` };
    else if (listed) yield recordIn(text, member, `byte ${offset}`);
    else if (member !== null) {
      length += member.length + text.length;
      refuseBeyond(length > maxElementBytes, `an object of at most ${maxElementBytes} bytes`);
      single[member] = parseJson(text) ?? null;
    }
  }
  if (isRecord(single)) yield { value: single, length, member: null, where: 'byte 0' };
}

export async function* jsonLines(file: SourceFile, onBytes: OnBytes, textOf = textOfLine): Records {
  for await (const { text, number } of fileLines(file.bytes(onBytes))) {
    const line = textOf(text);
    if (line !== null) yield recordIn(line, null, `line ${number}`);
  }
}

export const isJsonList = ({ head }: SourceFile): boolean => /^\ufeff?\s*\[/.test(head.toString('utf8'));

function recordIn(text: string, member: string | null, where: string): JsonRecord {
  const value = parseJson(text);
  if (value === undefined) return { unread: `expected JSON at ${where}, found a syntax error` };
  return { value, length: text.length, member, where };
}
