// Reads the JSON value that `write-value.ts` wrote.
import { powersOfTen } from '../../model/decimal.ts';
import type { JsonObject, JsonValue } from '../../model/json.ts';
import type { ByteReader } from './bytes.ts';
import { knownTexts, listForm, mostDecimals, tags } from './value-form.ts';

/** Reads one value. Throws a `RangeError` for bytes that no value has. */
export function readValue(reader: ByteReader): JsonValue {
  return new ValueReader(reader).read(0);
}

interface Shape {
  names: readonly string[];
  from: number;
}

class ValueReader {
  private readonly reader: ByteReader;
  private readonly texts: string[] = [];
  private readonly shapes: Shape[] = [];
  private readonly lastWhole: number[] = [0];
  private scratch = new Float64Array(64);

  constructor(reader: ByteReader) {
    this.reader = reader;
  }

  read(slot: number): JsonValue {
    const { reader, lastWhole } = this;
    const tag = reader.byte();
    if (tag >= tags.whole) {
      const isDifference = tag >= tags.difference;
      const decimals = tag - (isDifference ? tags.difference : tags.whole);
      const whole = reader.signed() + (isDifference ? lastWhole[slot]! : 0);
      lastWhole[slot] = whole;
      return whole / scaleOf(decimals);
    }
    switch (tag) {
      case tags.null:
        return null;
      case tags.false:
        return false;
      case tags.true:
        return true;
      case tags.double:
        return reader.double();
      case tags.object:
        return this.object();
      case tags.list:
        return this.list();
      case tags.numbers:
        return this.numbers(reader.varint());
      case tags.pairs:
        return this.pairs(reader.varint());
      default:
        return this.text(tag);
    }
  }

  private object(): JsonObject {
    const number = this.reader.varint();
    const { names, from } = number === this.shapes.length ? this.newShape() : there(this.shapes[number]);
    const object: JsonObject = {};
    for (let i = 0; i < names.length; i += 1) {
      const value = this.read(from + i);
      const name = names[i]!;
      if (name === '__proto__') Object.defineProperty(object, name, { ...plainField, value });
      else object[name] = value;
    }
    return object;
  }

  private newShape(): Shape {
    const names: string[] = [];
    const from = this.lastWhole.length;
    for (let count = this.reader.varint(); count > 0; count -= 1) {
      names.push(this.name());
      this.lastWhole.push(0);
    }
    if (hasTwice(names)) throw new RangeError('expected each name of an object once');
    const shape = { names, from };
    this.shapes.push(shape);
    return shape;
  }

  private name(): string {
    const number = this.reader.varint();
    return number === 0 ? this.text(this.reader.byte()) : there(knownTexts[number - 1]);
  }

  private list(): JsonValue[] {
    const list: JsonValue[] = [];
    for (let count = this.reader.varint(); count > 0; count -= 1) list.push(this.read(0));
    return list;
  }

  private numbers(count: number): number[] {
    const numbers = this.readNumbers(count);
    const list: number[] = [];
    for (let i = 0; i < count; i += 1) list.push(numbers[i]!);
    return list;
  }

  private pairs(count: number): JsonValue[] {
    const list: [number, number][] = [];
    const first = this.readNumbers(count);
    for (let i = 0; i < count; i += 1) list.push([first[i]!, 0]);
    const second = this.readNumbers(count);
    for (let i = 0; i < count; i += 1) list[i]![1] = second[i]!;
    return list;
  }

  /** The numbers of a list, until the next call. */
  private readNumbers(count: number): Float64Array {
    const { reader } = this;
    const form = reader.byte();
    if (count > reader.left) throw new RangeError('the bytes end too early');
    if (this.scratch.length < count) this.scratch = new Float64Array(2 * count);
    const numbers = this.scratch;
    if (form === listForm.doubles) {
      for (let i = 0; i < count; i += 1) numbers[i] = reader.double();
      return numbers;
    }
    const scale = scaleOf(form % listForm.orderAt);
    const order = Math.floor(form / listForm.orderAt);
    if (order > 2) throw new RangeError(`expected the form of a list, found the byte ${form}`);
    for (let i = 0, before = 0, step = 0; i < count; i += 1) {
      const read = reader.signed();
      const whole = order === 0 ? read : order === 1 ? read + before : read + before + step;
      step = i === 0 ? 0 : whole - before;
      before = whole;
      numbers[i] = whole / scale;
    }
    return numbers;
  }

  private text(tag: number): string {
    const { reader, texts } = this;
    if (tag === tags.again) {
      const number = reader.varint();
      return knownTexts[number] ?? there(texts[number - knownTexts.length]);
    }
    const text = this.newText(tag);
    texts.push(text);
    return text;
  }

  private newText(tag: number): string {
    const { reader } = this;
    if (tag === tags.id) return reader.string('hex', 12);
    if (tag === tags.text) return reader.string('latin1', reader.varint());
    if (tag === tags.quoted) {
      const text: unknown = JSON.parse(reader.text());
      if (typeof text === 'string') return text;
    }
    throw new RangeError(`expected a value, found the byte ${tag}`);
  }
}

function hasTwice(names: readonly string[]): boolean {
  if (names.length > 32) return new Set(names).size < names.length;
  for (let i = 1; i < names.length; i += 1) if (names.indexOf(names[i]!) < i) return true;
  return false;
}

function scaleOf(decimals: number): number {
  if (decimals > mostDecimals) throw new RangeError(`expected at most ${mostDecimals} decimals, found ${decimals}`);
  return powersOfTen[decimals]!;
}

/** What a number in the bytes stands for. */
function there<T>(found: T | undefined): T {
  if (found === undefined) throw new RangeError('expected the number of something that came before');
  return found;
}

const plainField = { enumerable: true, configurable: true, writable: true };
