// JSON that phones of old send and `JSON.parse` refuses: reads it token by token, repairs what can be, finds what
// cannot.

/** Where a text stops being JSON, counted in UTF-16 code units from 0. */
export class JsonSyntaxError extends Error {
  readonly offset: number;

  constructor(offset: number) {
    super(`not JSON at offset ${offset}`);
    this.name = 'JsonSyntaxError';
    this.offset = offset;
  }
}

const blanks = /[ \t\n\r]*/y;
const numbers = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const words = /true|false|null/y;
const specials = /-?(?:NaN|Infinity)/y;
const plainCharacters = /[ !#-[\]-\uffff]*/y; // all but quote, backslash and controls
const escapes = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

/**
 * What may stand at the position: a value, a member name, either with the end of an empty container, or what follows a
 * value.
 */
type Expected = 'value' | 'value or ]' | 'name' | 'name or }' | 'after value';

/**
 * The same JSON, with what `JSON.parse` refuses mended: `NaN` and `Infinity` become strings, containers more than
 * `maxDepth` deep become the text they are written as, raw control characters in strings are escaped. So a fault stays
 * with the entry it is in. Throws a `JsonSyntaxError` for anything else, and where it has mended `maxRepairs` places
 * and finds another.
 */
export function repairJson(text: string, maxDepth: number, maxRepairs = Number.POSITIVE_INFINITY): string {
  return new Repair(text, maxDepth, maxRepairs).run();
}

class Repair {
  readonly #text: string;
  readonly #maxDepth: number;
  #repairsLeft: number;
  readonly #open: string[] = [];
  readonly #pieces: string[] = [];
  #at = 0;
  #copied = 0;

  constructor(text: string, maxDepth: number, maxRepairs: number) {
    this.#text = text;
    this.#maxDepth = maxDepth;
    this.#repairsLeft = maxRepairs;
  }

  run(): string {
    let expected: Expected = 'value';
    for (;;) {
      this.#match(blanks);
      if (expected === 'after value' && this.#open.length === 0) break;
      expected = this.#step(expected);
    }
    if (this.#at < this.#text.length) this.#fail();
    return this.#pieces.join('') + this.#text.slice(this.#copied);
  }

  #step(expected: Expected): Expected {
    const next = this.#text[this.#at];
    if (expected === 'after value') {
      const container = this.#open.at(-1);
      if (next !== ',') return this.#close(container === '{' ? '}' : ']');
      this.#at += 1;
      return container === '{' ? 'name' : 'value';
    }
    if (expected === 'name' || expected === 'name or }') {
      if (next === '}' && expected === 'name or }') return this.#close('}');
      return this.#name();
    }
    if (next === ']' && expected === 'value or ]') return this.#close(']');
    return this.#value(next);
  }

  #close(closer: string): Expected {
    if (this.#text[this.#at] !== closer) this.#fail();
    this.#open.pop();
    this.#at += 1;
    return 'after value';
  }

  #name(): Expected {
    this.#string();
    this.#match(blanks);
    if (this.#text[this.#at] !== ':') this.#fail();
    this.#at += 1;
    return 'value';
  }

  #value(next: string | undefined): Expected {
    if (next === '{' || next === '[') {
      if (this.#open.length >= this.#maxDepth) return this.#asText();
      this.#open.push(next);
      this.#at += 1;
      return next === '{' ? 'name or }' : 'value or ]';
    }
    if (next === '"') this.#string();
    else this.#scalar();
    return 'after value';
  }

  #scalar(): void {
    const start = this.#at;
    if (this.#match(specials)) this.#replace(start, JSON.stringify(this.#text.slice(start, this.#at)));
    else if (!this.#match(numbers) && !this.#match(words)) this.#fail();
  }

  #string(repair = true): void {
    if (this.#text[this.#at] !== '"') this.#fail();
    this.#at += 1;
    for (;;) {
      this.#match(plainCharacters);
      const next = this.#text[this.#at];
      if (next === '"') break;
      if (next === undefined || (next === '\\' && !this.#match(escapes))) this.#fail();
      if (next !== undefined && next < ' ') {
        this.#at += 1;
        if (repair) this.#replace(this.#at - 1, JSON.stringify(next).slice(1, -1));
      }
    }
    this.#at += 1;
  }

  /** Takes a container as text; inside it only brackets and strings are looked at. */
  #asText(): Expected {
    const start = this.#at;
    const marks = /["[\]{}]/g;
    let depth = 0;
    do {
      marks.lastIndex = this.#at;
      const mark = marks.exec(this.#text);
      if (mark === null) {
        this.#at = this.#text.length;
        this.#fail();
      }
      this.#at = mark!.index;
      if (mark![0] === '"') {
        this.#string(false);
      } else {
        depth += mark![0] === '[' || mark![0] === '{' ? 1 : -1;
        this.#at += 1;
      }
    } while (depth > 0);
    this.#replace(start, JSON.stringify(this.#text.slice(start, this.#at)));
    return 'after value';
  }

  #match(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at;
    if (!pattern.test(this.#text)) return false;
    this.#at = pattern.lastIndex;
    return true;
  }

  #replace(start: number, by: string): void {
    this.#repairsLeft -= 1;
    if (this.#repairsLeft < 0) this.#fail();
    this.#pieces.push(this.#text.slice(this.#copied, start), by);
    this.#copied = this.#at;
  }

  #fail(): never {
    throw new JsonSyntaxError(this.#at);
  }
}
