// JSON of any size -> the members and list elements of its outermost value, one after the other, as text.
import { SourceBroken } from '../source-error.ts';

/** A piece of a JSON file. */
export interface JsonElement {
  /** Name of the member of the outermost object that it is, or belongs to; null in a file that is one list. */
  of: string | null;
  /** True for an element of a list, false for a member that is no list. */
  listed: boolean;
  /** Its JSON text; null if the element was skipped, for `reason`. */
  text: string | null;
  reason?: string;
  /** Byte of the file where it begins. */
  offset: number;
}

/**
 * Bytes that one element may have; a longer one is skipped, so that no file decides how much memory an import
 * takes. Parsed, it may need twenty times as many.
 */
export const maxElementBytes = 1024 * 1024;

/** Containers within containers that an element may hold, as in what phones push. */
const maxElementDepth = 500;

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const openList = 0x5b;
const closeList = 0x5d;
const openObject = 0x7b;
const closeObject = 0x7d;

const isBlank = (byte: number): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

/** What comes next: the file's outermost value, a name, its colon, its value, an element, or nothing more. */
type State = 'start' | 'name' | 'colon' | 'value' | 'element' | 'end';

/**
 * Cuts a JSON file into elements without parsing it: the caller parses each, so that one that is no JSON
 * costs only itself. Memory is bounded by `maxElementBytes`. Throws `SourceBroken` where the file ends early or is no
 * JSON list or object.
 */
export async function* jsonElements(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<JsonElement> {
  let state: State = 'start';
  let of: string | null = null;
  let isList = false; // the outermost value
  let piece: Piece | null = null;
  let position = 0; // of the chunk in the file
  for await (const chunk of chunks) {
    let i = 0;
    while (i < chunk.length) {
      if (piece !== null) {
        i = piece.take(chunk, i);
        if (!piece.done) break;
        const { text, reason, offset }: Piece = piece;
        piece = null;
        if (state === 'name') {
          of = nameOf(text, offset);
          state = 'colon';
          continue;
        }
        yield { of, listed: state === 'element', text, ...(reason !== null && { reason }), offset };
        if (state === 'value') state = 'name';
        continue;
      }
      const byte = chunk[i]!;
      const at = position + i;
      if (isBlank(byte) || (at < 3 && isMark(byte))) {
        i += 1;
      } else if (state === 'start') {
        if (byte !== openList && byte !== openObject) throw noJson(at, 'a JSON list or object');
        isList = byte === openList;
        state = isList ? 'element' : 'name';
        i += 1;
      } else if (state === 'end') {
        throw noJson(at, 'the end of the file');
      } else if (state === 'colon') {
        if (byte !== colon) throw noJson(at, 'a colon');
        state = 'value';
        i += 1;
      } else if (state === 'value' && byte === openList) {
        state = 'element';
        i += 1;
      } else if (byte === comma && state !== 'value') {
        i += 1;
      } else if (state === 'element' && byte === closeList) {
        state = isList ? 'end' : 'name';
        i += 1;
      } else if (state === 'name' && byte === closeObject) {
        state = 'end';
        i += 1;
      } else if ((state === 'name' && byte !== quote) || byte === closeObject || byte === closeList || byte === colon) {
        throw noJson(at, state === 'name' ? 'a name in quotes' : 'a value');
      } else {
        piece = new Piece(at);
      }
    }
    position += chunk.length;
  }
  if (state === 'end') return;
  if (state === 'start') throw new SourceBroken('expected a JSON list or object, found nothing');
  throw new SourceBroken(`the file ends at byte ${position}, before its JSON does: everything before it was read`);
}

/** A byte of the mark with which some programs begin UTF-8. */
const isMark = (byte: number): boolean => byte === 0xef || byte === 0xbb || byte === 0xbf;

function nameOf(text: string | null, offset: number): string {
  try {
    return String(JSON.parse(text ?? ''));
  } catch {
    throw noJson(offset, 'a name in quotes');
  }
}

function noJson(at: number, expected: string): SourceBroken {
  return new SourceBroken(`expected ${expected} at byte ${at}, found something else: everything before it was read`);
}

/** One value, collected over as many chunks as it lies in. */
class Piece {
  readonly offset: number;
  done = false;
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

  /** The JSON text; null where it was too long or nested too deep. */
  get text(): string | null {
    return this.reason === null ? Buffer.concat(this.#parts, this.#size).toString('utf8') : null;
  }

  /** Takes bytes from `start` on; returns where the value ends, or the end of the chunk. */
  take(chunk: Uint8Array, start: number): number {
    const end = this.#scan(chunk, start);
    this.#size += end - start;
    if (this.#size > maxElementBytes) this.#giveUp(`longer than ${maxElementBytes} bytes`);
    else if (this.#deepest > maxElementDepth) this.#giveUp(`nested deeper than ${maxElementDepth}`);
    // A copy, because the reader of the file may reuse the chunk.
    if (this.reason === null) this.#parts.push(Uint8Array.prototype.slice.call(chunk, start, end));
    return end;
  }

  #giveUp(reason: string): void {
    this.reason ??= reason;
    this.#parts = [];
  }

  #scan(chunk: Uint8Array, start: number): number {
    for (let i = start; i < chunk.length; i++) {
      const byte = chunk[i]!;
      if (this.#inText) {
        if (this.#escaped) this.#escaped = false;
        else if (byte === backslash) this.#escaped = true;
        else if (byte === quote) {
          this.#inText = false;
          if (this.#depth === 0) return this.#finish(i + 1);
        }
      } else if (byte === quote) {
        if (this.#depth === 0 && this.#begun) return this.#finish(i);
        this.#inText = true;
      } else if (byte === openObject || byte === openList) {
        if (this.#depth === 0 && this.#begun) return this.#finish(i);
        this.#depth += 1;
        if (this.#depth > this.#deepest) this.#deepest = this.#depth;
      } else if (byte === closeObject || byte === closeList) {
        if (this.#depth === 0) return this.#finish(i); // a bare number or word ends before its container does
        this.#depth -= 1;
        if (this.#depth === 0) return this.#finish(i + 1);
      } else if (this.#depth === 0 && (byte === comma || isBlank(byte))) {
        return this.#finish(i);
      }
      this.#begun = true;
    }
    return chunk.length;
  }

  #finish(end: number): number {
    this.done = true;
    return end;
  }
}
