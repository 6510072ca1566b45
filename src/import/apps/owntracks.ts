// OwnTracks: the `.rec` files of its recorder, and its messages as JSON. Uses the mapper of the endpoint.
import type { Mapped } from '../../formats/other-entry.ts';
import { fromOwnTracks } from '../../formats/owntracks.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../model/json.ts';
import type { FileFormat, Found, SourceReadOptions } from '../format.ts';
import { jsonElements, maxElementBytes } from '../read/json-elements.ts';
import { fileLines } from '../read/lines.ts';
import type { SourceFile } from '../source.ts';
import { SourceBroken } from '../source-broken.ts';

/** `2024-03-12T07:57:27Z<tab>*    <tab>{…}`, and the like for other kinds of message. */
const recLine = /^\d{4}-\d\d-\d\dT[\d:.]+Z\t[^\t]*\t(\{.*)$/;

/** The import format `owntracks`. */
export const ownTracks: FileFormat = {
  name: 'owntracks',
  title: 'OwnTracks, .rec files and JSON',
  recognises: ({ head }) => isRec(head) || /"_type"\s*:\s*"/.test(head.toString('utf8')),
  read: readOwnTracks,
};

function isRec(head: Buffer): boolean {
  return recLine.test(head.toString('utf8').split('\n', 1)[0]!.trimEnd());
}

async function* readOwnTracks(file: SourceFile, { onBytes }: SourceReadOptions): AsyncGenerator<Found> {
  if (isRec(file.head) || isLines(file.head)) {
    for await (const { text, number } of fileLines(file.bytes(onBytes))) {
      const json = recLine.exec(text)?.[1] ?? text;
      if (json.trimStart().startsWith('{')) yield* messageFound(json, `line ${number}`);
      else if (text.trim() !== '' && !/^\d{4}-\d\d-\d\dT/.test(text))
        yield { unread: `expected a message at line ${number}` };
    }
    return;
  }
  const single: JsonObject = {}; // a single message over several lines
  let length = 0;
  for await (const { of, listed, text, reason, offset } of jsonElements(file.bytes(onBytes))) {
    if (text === null) yield { unread: `the message at byte ${offset} is ${reason}` };
    else if (listed) yield* messageFound(text, `byte ${offset}`);
    else if (of !== null) {
      length += of.length + text.length;
      if (length > maxElementBytes) throw new SourceBroken(`expected a message of at most ${maxElementBytes} bytes`);
      single[of] = jsonIn(text) ?? null;
    }
  }
  if (single._type !== undefined) yield* mappedFound(fromOwnTracks(single));
}

/** One message on each line. */
function isLines(head: Buffer): boolean {
  const first = jsonIn(head.toString('utf8').trimStart().split('\n', 1)[0]!);
  return isJsonObject(first) && first._type !== undefined;
}

function* messageFound(json: string, where: string): Generator<Found> {
  const message = jsonIn(json);
  if (message === undefined) yield { unread: `expected a message in JSON at ${where}, found something else` };
  else yield* mappedFound(fromOwnTracks(message));
}

function jsonIn(json: string): JsonValue | undefined {
  try {
    return JSON.parse(json) as JsonValue;
  } catch {
    return undefined;
  }
}

/** What a mapper of an endpoint made of something. */
export function* mappedFound({ entries, unusable, passedOver }: Mapped): Generator<Found> {
  for (const entry of entries) yield { of: null, entry };
  for (const one of unusable) yield { of: null, unusable: one };
  for (let i = 0; i < passedOver; i++) yield { left: 'a message that tells nothing about travel' };
}
