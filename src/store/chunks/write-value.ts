// Writes a JSON value as bytes: names and texts once, numbers as whole numbers and their differences.
import { powersOfTen } from '../../model/decimal.ts';
import type { JsonObject, JsonValue } from '../../model/json.ts';
import { ByteWriter } from './bytes.ts';
import { knownTexts, listForm, mostDecimals, mostWhole, tags } from './value-form.ts';

const known = new Map(knownTexts.map((text, i) => [text, i]));

/** Values nested deeper than this are left to whoever writes JSON. */
const deepest = 200;

/** Each object of a value is compared with the names that came before it: diaries have some dozens. */
const mostShapes = 256;

/** A value that has no such bytes: it is nested too deep, too mixed, or holds something that is no JSON. */
export class Unwritable extends Error {}

/** Writes one value. Equal values, with their names in the same order, have equal bytes. */
export function writeValue(writer: ByteWriter, value: JsonValue): void {
  try {
    new ValueWriter(writer).write(value, 0);
  } finally {
    forget();
  }
}

/** Names of an object, in order. */
interface Names {
  list: readonly string[];
  /** The bytes of all of them; null where one is no known text. */
  bytes: Uint8Array | null;
}

/** Names within one value: where the numbers of these names begin in the lists of last numbers. */
interface Shape {
  names: Names;
  from: number;
}

/** Names that objects had whose names are all known texts, by their number: those of trips and of documents. */
const familiar = new Map<number, Names[]>();

/** More than diaries have. */
const mostFamiliar = 24; // of one number of names

// Scratch: numbers of a list, and names of an object.
const usualNumbers = 1024;
let numbersOf = new Float64Array(usualNumbers);
const namesOf: string[] = [];

/** Nothing of a value stays behind. */
function forget(): void {
  namesOf.length = 0;
  if (numbersOf.length > usualNumbers) numbersOf = new Float64Array(usualNumbers);
  else numbersOf.fill(0);
}

class ValueWriter {
  private readonly writer: ByteWriter;
  private readonly texts = new Map<string, number>();
  private readonly shapes: Shape[] = [];
  // By name of each shape, and first of all for what is in no object: the last number, and its decimals.
  private readonly lastWhole: number[] = [0];
  private readonly lastDecimals: number[] = [0];
  private depth = 0;

  constructor(writer: ByteWriter) {
    this.writer = writer;
  }

  /** `slot`: where the last number of the same name is. */
  write(value: JsonValue, slot: number): void {
    const { writer } = this;
    if (typeof value === 'number') this.number(value, slot);
    else if (typeof value === 'string') this.text(value);
    else if (value === null) writer.byte(tags.null);
    else if (typeof value === 'boolean') writer.byte(value ? tags.true : tags.false);
    else if (typeof value === 'object') this.container(value);
    else throw new Unwritable(`expected a JSON value, found ${typeof value}`);
  }

  private container(value: JsonValue[] | JsonObject): void {
    this.depth += 1;
    if (this.depth > deepest) throw new Unwritable(`expected at most ${deepest} levels`);
    if (Array.isArray(value)) this.list(value);
    else this.object(value);
    this.depth -= 1;
  }

  private object(value: JsonObject): void {
    const { writer, shapes } = this;
    const count = readNames(value);
    let at = 0;
    while (at < shapes.length && !areRead(shapes[at]!.names.list, count)) at += 1;
    writer.byte(tags.object);
    writer.varint(at);
    const { names, from } = at < shapes.length ? shapes[at]! : this.newShape(count);
    const { list } = names;
    for (let i = 0; i < count; i += 1) this.write(value[list[i]!]!, from + i);
  }

  /** Writes the names of the scratch. */
  private newShape(count: number): Shape {
    const { writer, lastWhole, lastDecimals } = this;
    if (this.shapes.length >= mostShapes) throw new Unwritable(`expected at most ${mostShapes} lists of names`);
    const shape = { names: readInto(count), from: lastWhole.length };
    this.shapes.push(shape);
    writer.varint(count);
    const { list, bytes } = shape.names;
    if (bytes !== null) writer.raw(bytes);
    else for (const name of list) this.name(name);
    for (let i = 0; i < count; i += 1) {
      lastWhole.push(0);
      lastDecimals.push(0);
    }
    return shape;
  }

  /** A text that is known, as its number and one; any other behind a zero. */
  private name(name: string): void {
    const { writer } = this;
    const number = known.get(name);
    writer.varint(number === undefined ? 0 : number + 1);
    if (number === undefined) this.text(name);
  }

  private list(list: readonly JsonValue[]): void {
    const { writer } = this;
    if (areNumbers(list)) {
      writer.byte(tags.numbers);
      writer.varint(list.length);
      makeRoom(list.length);
      numbersOf.set(list);
      this.numbers(list.length);
    } else if (arePairs(list)) {
      writer.byte(tags.pairs);
      writer.varint(list.length);
      makeRoom(list.length);
      for (let i = 0; i < list.length; i += 1) numbersOf[i] = list[i]![0];
      this.numbers(list.length);
      for (let i = 0; i < list.length; i += 1) numbersOf[i] = list[i]![1];
      this.numbers(list.length);
    } else {
      writer.byte(tags.list);
      writer.varint(list.length);
      for (let i = 0; i < list.length; i += 1) this.write(list[i]!, 0);
    }
  }

  /** Writes the first numbers of the scratch. */
  private numbers(count: number): void {
    const { writer } = this;
    const numbers = numbersOf;
    const decimals = toWholes(numbers, count);
    if (decimals > mostDecimals) {
      writer.byte(listForm.doubles);
      for (let i = 0; i < count; i += 1) writer.double(definite(numbers[i]!));
      return;
    }
    const order = bestOrder(numbers, count);
    writer.byte(decimals + listForm.orderAt * order);
    for (let i = 0, before = 0, step = 0; i < count; i += 1) {
      const whole = numbers[i]!;
      writer.signed(order === 0 ? whole : order === 1 ? whole - before : whole - before - step);
      step = i === 0 ? 0 : whole - before;
      before = whole;
    }
  }

  private number(value: number, slot: number): void {
    const { writer, lastWhole, lastDecimals } = this;
    const last = lastDecimals[slot]!;
    let decimals = decimalsOf(value, last);
    if (decimals > mostDecimals) decimals = decimalsOf(value, 0);
    if (decimals > mostDecimals) {
      writer.byte(tags.double);
      writer.double(definite(value));
      return;
    }
    const whole = Math.round(value * powersOfTen[decimals]!);
    const difference = whole - lastWhole[slot]!;
    if (decimals === last && Math.abs(difference) < Math.abs(whole)) {
      writer.byte(tags.difference + decimals);
      writer.signed(difference);
    } else {
      writer.byte(tags.whole + decimals);
      writer.signed(whole);
    }
    lastWhole[slot] = whole;
    lastDecimals[slot] = decimals;
  }

  private text(text: string): void {
    const { writer, texts } = this;
    const number = known.get(text) ?? texts.get(text);
    if (number !== undefined) {
      writer.byte(tags.again);
      writer.varint(number);
      return;
    }
    texts.set(text, knownTexts.length + texts.size);
    if (isId(text)) {
      writer.byte(tags.id);
      for (let i = 0; i < 24; i += 2) writer.byte(16 * digitOf(text, i) + digitOf(text, i + 1));
    } else if (isAscii(text)) {
      writer.byte(tags.text);
      writer.varint(text.length);
      for (let i = 0; i < text.length; i += 1) writer.byte(text.charCodeAt(i));
    } else {
      writer.byte(tags.quoted);
      writer.text(JSON.stringify(text)); // halves of characters stay, which UTF-8 has no bytes for
    }
  }
}

/** NaN is no JSON value. */
function definite(value: number): number {
  if (Number.isNaN(value)) throw new Unwritable('expected a JSON value, found NaN');
  return value;
}

function makeRoom(count: number): void {
  if (numbersOf.length < count) numbersOf = new Float64Array(2 * count);
}

/**
 * Numbers -> whole numbers, in place. Returns the decimals that these stand for; more than `mostDecimals`, and nothing
 * is changed, if some number has more or is too large for those of another.
 */
function toWholes(numbers: Float64Array, count: number): number {
  let decimals = 0;
  let largest = 0;
  for (let i = 0; i < count; i += 1) {
    decimals = decimalsOf(numbers[i]!, decimals);
    if (decimals > mostDecimals) return decimals;
    largest = Math.max(largest, Math.abs(numbers[i]!));
  }
  const scale = powersOfTen[decimals]!;
  if (largest * scale > mostWhole) return mostDecimals + 1;
  for (let i = 0; i < count; i += 1) numbers[i] = Math.round(numbers[i]! * scale);
  return decimals;
}

/** How often to take differences of whole numbers, so that the least is left to write. */
function bestOrder(wholes: Float64Array, count: number): 0 | 1 | 2 {
  let plain = 0;
  let steps = 0;
  let bends = 0;
  for (let i = 0, before = 0, step = 0; i < count; i += 1) {
    const whole = wholes[i]!;
    const next = whole - before;
    plain += Math.abs(whole);
    steps += Math.abs(next);
    bends += Math.abs(next - step);
    step = i === 0 ? 0 : next; // the first number is no step
    before = whole;
  }
  if (bends < steps && bends < plain) return 2;
  return steps < plain ? 1 : 0;
}

/** Reads the names of an object into the scratch. Returns their number. */
function readNames(object: JsonObject): number {
  let count = 0;
  for (const name in object) {
    if (object[name] === undefined) continue;
    namesOf[count] = name;
    count += 1;
  }
  return count;
}

/** True for a list of the names of the scratch. */
function areRead(names: readonly string[], count: number): boolean {
  if (names.length !== count) return false;
  for (let i = 0; i < count; i += 1) if (names[i] !== namesOf[i]) return false;
  return true;
}

/** The names of the scratch. */
function readInto(count: number): Names {
  const alike = familiar.get(count) ?? [];
  for (const names of alike) if (areRead(names.list, count)) return names;
  const list = namesOf.slice(0, count);
  const numbers = list.map((name) => known.get(name));
  if (numbers.includes(undefined)) return { list, bytes: null };
  const writer = new ByteWriter();
  for (const number of numbers) writer.varint(number! + 1);
  const names = { list, bytes: Uint8Array.from(writer.bytes()) };
  if (alike.length === 0) familiar.set(count, alike);
  if (alike.length < mostFamiliar) alike.push(names);
  return names;
}

/** The least decimals from `least` on with which a number is a whole one, exactly; more than `mostDecimals`: none. */
function decimalsOf(value: number, least: number): number {
  let decimals = least;
  for (; decimals <= mostDecimals; decimals += 1) {
    const scale = powersOfTen[decimals]!;
    const whole = Math.round(value * scale);
    if (whole / scale === value && Math.abs(whole) <= mostWhole && (whole !== 0 || 1 / value > 0)) break;
  }
  return decimals;
}

// By `every`: a loop that reads lists of numbers and others in one place turns the numbers into objects, see
// "elements kinds" of V8.

const isNumber = (value: unknown): value is number => typeof value === 'number';

const isPair = (value: unknown): value is [number, number] =>
  Array.isArray(value) && value.length === 2 && isNumber(value[0]) && isNumber(value[1]);

const areNumbers = (list: readonly JsonValue[]): list is number[] => list.length > 0 && list.every(isNumber);

const arePairs = (list: readonly JsonValue[]): list is [number, number][] => list.length > 0 && list.every(isPair);

function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i += 1) if (text.charCodeAt(i) > 0x7f) return false;
  return true;
}

const [zero, nine, a, f] = [0x30, 0x39, 0x61, 0x66];

function isId(text: string): boolean {
  if (text.length !== 24) return false;
  for (let i = 0; i < 24; i += 1) {
    const code = text.charCodeAt(i);
    if (!((code >= zero && code <= nine) || (code >= a && code <= f))) return false;
  }
  return true;
}

function digitOf(text: string, i: number): number {
  const code = text.charCodeAt(i);
  return code <= nine ? code - zero : code - a + 10;
}
