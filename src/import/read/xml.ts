// Reads XML of any size as events: elements that open and close. Builds no tree.
import sax from 'sax';
import type { FileFormat } from '../import-format.ts';
import { readUpTo, SourceBroken } from '../source-error.ts';
import type { Bytes } from './bytes.ts';

/** `text`: the text of an element after its last child. Names have no prefixes. */
export type XmlEvent =
  | { open: true; name: string; attributes: Readonly<Record<string, string>>; line: number }
  | { open: false; name: string; text: string; line: number };

const maxDepth = 200; // levels of nested elements
const maxAttributes = 1000; // attributes of an element
const maxAttributeLength = 1024 * 1024; // characters of attributes of all open elements
const maxTextLength = 256; // characters of a text that are kept: numbers, times and names are shorter
const maxLongTextLength = 4 * 1024 * 1024; // characters of a list of positions

/**
 * Downloads nothing. Throws `SourceBroken` with the line if the file is truncated, is not XML, or
 * uses an entity that it declares itself, since such an entity could expand without limit. Cuts
 * texts off at `maxTextLength`, or at `maxLongTextLength` in elements with the name `long`.
 */
export async function* xmlEvents(chunks: Bytes, long?: string): AsyncGenerator<XmlEvent> {
  const parser = sax.parser(true, { position: true });
  let [text, maxLength] = ['', maxTextLength];
  let events: XmlEvent[] = [];
  let [attributes, attributeLength] = [0, 0];
  const attributeLengths: number[] = []; // `attributeLength` after each open element
  parser.onattribute = ({ name, value }) => {
    attributes += 1;
    if (attributes > maxAttributes) throw broken(parser, `an element with more than ${maxAttributes} attributes`);
    attributeLength += name.length + value.length;
    if (attributeLength > maxAttributeLength)
      throw broken(parser, `attributes of more than ${maxAttributeLength} characters`);
  };
  parser.onopentag = (tag) => {
    if (attributeLengths.length >= maxDepth) throw broken(parser, `elements nested deeper than ${maxDepth}`);
    attributes = 0;
    attributeLengths.push(attributeLength);
    const name = localName(tag.name);
    [text, maxLength] = ['', name === long ? maxLongTextLength : maxTextLength];
    const own = tag.attributes as Record<string, string>;
    events.push({ open: true, name, attributes: own, line: parser.line + 1 });
  };
  const onText = (piece: string): void => {
    if (text.length < maxLength) text += piece.slice(0, maxLength - text.length);
  };
  parser.ontext = onText;
  parser.oncdata = onText;
  parser.onclosetag = (name) => {
    attributeLengths.pop();
    attributeLength = attributeLengths.at(-1) ?? 0;
    events.push({ open: false, name: localName(name), text: text.trim(), line: parser.line + 1 });
    text = '';
  };
  parser.onerror = (error) => {
    // Only the first line: the other lines quote the text, which may be personal.
    throw broken(parser, (error.message.split('\n')[0] ?? '').toLowerCase());
  };
  let decoder: InstanceType<typeof TextDecoder> | null = null;
  for await (const chunk of chunks) {
    decoder ??= new TextDecoder();
    const error = attempt(() => parser.write(decoder!.decode(chunk, { stream: true })));
    yield* events;
    events = [];
    if (error !== null) throw error;
  }
  if (decoder === null) throw new SourceBroken('expected XML, found nothing');
  const error = attempt(() => parser.close());
  yield* events;
  if (error !== null) throw error;
}

/** Returns the error, so that the caller can first yield the events before it. null: no error. */
function attempt(work: () => unknown): unknown {
  try {
    work();
    return null;
  } catch (error) {
    return error;
  }
}

function broken(parser: sax.SAXParser, found: string): SourceBroken {
  return new SourceBroken(`expected XML on line ${parser.line + 1}, found ${found}; ${readUpTo}`);
}

const localName = (name: string): string => name.slice(name.indexOf(':') + 1);

/** Returns the name of the outermost element, without its prefix. null: the file is not XML. */
function rootName(head: Buffer): string | null {
  const text = head.toString('utf8');
  if (!/^\ufeff?\s*</.test(text)) return null;
  const [, name] =
    /<([A-Za-z_][\w.-]*:)?([A-Za-z_][\w.-]*)[\s>/]/.exec(text.replace(/<!--[\s\S]*?-->/g, ''))?.slice(1) ?? [];
  return name ?? null;
}

export const xmlFormat = (name: string, root: string, read: FileFormat['read']): FileFormat => {
  return { name, recognises: ({ head }) => rootName(head) === root, read };
};
