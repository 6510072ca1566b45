// Cuts JSON of any size into its members and elements, as text. Cuts a list in a member, too.
import { parseJson } from '../../model/json.ts';
import { readUpTo, SourceBroken } from '../source-error.ts';
import type { Bytes } from './bytes.ts';

export interface JsonElement {
  /** Name of the member, or of the member whose list has the element. null: the file is a list. */
  member: string | null;
  listed: boolean; // true for an element of a list; false for a member that is not a list
  text: string | null; // the JSON text of the element; null: the element was skipped because of `reason`
  reason?: string;
  offset: number; // the byte of the file where the element begins
}

/** Longer elements are skipped: parsed, an element may need twenty times the bytes of its text. */
export const maxElementBytes = 1024 * 1024;

const maxElementDepth = 500; // levels of nested lists and objects in an element, as in pushed entries

const [quote, backslash, comma, colon] = [0x22, 0x5c, 0x2c, 0x3a];
const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d];

const isBlank = (byte: number): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

type State = 'start' | 'name' | 'colon' | 'value' | 'element' | 'end';

/** Invalid JSON affects only its element. Throws `SourceBroken` if the file ends early. */
export async function* jsonElements(chunks: Bytes): AsyncGenerator<JsonElement> {
  let state: State = 'start';
  let member: string | null = null;
  let isList = false; // true if the outermost value is a list
  let piece: Piece | null = null;
  let position = 0; // the byte of the file where the chunk begins
  for await (const chunk of chunks) {
    let i = 0;
    while (i < chunk.length) {
      if (piece !== null) {
        const end: number = piece.take(chunk, i);
        if (end === -1) break;
        i = end;
        const { text, reason, offset }: Piece = piece;
        piece = null;
        if (state === 'name') {
          member = nameOf(text, offset);
          state = 'colon';
          continue;
        }
        yield { member, listed: state === 'element', text, ...(reason !== null && { reason }), offset };
        if (state === 'value') state = 'name';
        continue;
      }
      const next = stateAfter(state, chunk[i]!, position + i, isList);
      if (next === null) {
        piece = new Piece(position + i);
        continue;
      }
      if (state === 'start') isList = next === 'element';
      state = next;
      i += 1;
    }
    position += chunk.length;
  }
  if (state === 'end') return;
  if (state === 'start') throw new SourceBroken('expected a JSON list or object, found nothing');
  throw new SourceBroken(`expected the end of the JSON, found the end of the file at byte ${position}; ${readUpTo}`);
}

/** The state after a byte outside names and values; null: a name or value begins. */
function stateAfter(state: State, byte: number, at: number, isList: boolean): State | null {
  if (isBlank(byte) || (at < 3 && isMark(byte))) return state;
  if (state === 'start' && byte === openList) return 'element';
  if (state === 'start' && byte === openObject) return 'name';
  if (state === 'start') throw noJson(at, 'a JSON list or object');
  if (state === 'end') throw noJson(at, 'the end of the file');
  if (state === 'colon' && byte === colon) return 'value';
  if (state === 'colon') throw noJson(at, 'a colon');
  if (state === 'value' && byte === openList) return 'element';
  if (state !== 'value' && byte === comma) return state;
  if (state === 'element' && byte === closeList) return isList ? 'end' : 'name';
  if (state === 'name' && byte === closeObject) return 'end';
  if (state === 'name' && byte !== quote) throw noJson(at, 'a name in quotes');
  if (byte === closeObject || byte === closeList || byte === colon) throw noJson(at, 'a value');
  return null;
}

const isMark = (byte: number): boolean => byte === 0xef || byte === 0xbb || byte === 0xbf;

function nameOf(text: string | null, offset: number): string {
  const name = parseJson(text ?? '');
  if (name === undefined) throw noJson(offset, 'a name in quotes');
  return String(name);
}

function noJson(at: number, expected: string): SourceBroken {
  return new SourceBroken(`expected ${expected} at byte ${at}, found other text; ${readUpTo}`);
}

class Piece {
  readonly offset: number;
  reason: string | null = null;
  #parts: Uint8Array[] = [];
  #size = 0;
  #depth = 0;
  #deepest = 0;
  #inText = false;
  #escaped = false;
  #begun = false;

  constructor(offset: number) {
    this.offset = offset;
  }

  get text(): string | null {
    return this.reason === null ? Buffer.concat(this.#parts, this.#size).toString('utf8') : null;
  }

  /** Returns the position after the value; -1: the value continues in the next chunk. */
  take(chunk: Uint8Array, start: number): number {
    const found = this.#endIn(chunk, start);
    const end = found === -1 ? chunk.length : found;
    this.#size += end - start;
    if (this.#size > maxElementBytes) this.#giveUp(`longer than ${maxElementBytes} bytes`);
    else if (this.#deepest > maxElementDepth) this.#giveUp(`nested deeper than ${maxElementDepth}`);
    // A copy, because the reader of the file may reuse the chunk.
    if (this.reason === null) this.#parts.push(Uint8Array.prototype.slice.call(chunk, start, end));
    return found;
  }

  #giveUp(reason: string): void {
    this.reason ??= reason;
    this.#parts = [];
  }

  #endIn(chunk: Uint8Array, start: number): number {
    for (let i = start; i < chunk.length; i++) {
      const byte = chunk[i]!;
      if (this.#inText) {
        if (this.#escaped) this.#escaped = false;
        else if (byte === backslash) this.#escaped = true;
        else if (byte === quote) {
          this.#inText = false;
          if (this.#depth === 0) return i + 1;
        }
      } else if (byte === quote) {
        if (this.#depth === 0 && this.#begun) return i;
        this.#inText = true;
      } else if (byte === openObject || byte === openList) {
        if (this.#depth === 0 && this.#begun) return i;
        this.#depth += 1;
        if (this.#depth > this.#deepest) this.#deepest = this.#depth;
      } else if (byte === closeObject || byte === closeList) {
        if (this.#depth === 0) return i; // a number, true, false or null ends where its list or object ends
        this.#depth -= 1;
        if (this.#depth === 0) return i + 1;
      } else if (this.#depth === 0 && (byte === comma || isBlank(byte))) {
        return i;
      }
      this.#begun = true;
    }
    return -1;
  }
}
