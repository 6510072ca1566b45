// XML of any size -> its elements as they open and close, without a tree.
import sax from 'sax';
import { SourceBroken } from '../source-error.ts';

/** An element begins, or ends with its text since the last element within it. Names have no prefixes. */
export type XmlEvent =
  | { open: true; name: string; attributes: Readonly<Record<string, string>>; line: number }
  | { open: false; name: string; text: string; line: number };

/** Elements within elements. */
const maxDepth = 200;

/** Attributes of one element, and characters of the attributes of all elements that are open. */
const maxAttributes = 1000;
const maxAttributeLength = 1024 * 1024;

/** Characters of text kept of an element: numbers, times and names are shorter, lists of positions are not. */
const maxTextLength = 256;
const maxLongTextLength = 4 * 1024 * 1024;

/**
 * Reads XML as it comes. Entities that a file declares itself are errors, so that none can grow without bound, and
 * nothing is ever fetched; names, depth, attributes and texts are bounded: of the open elements, only the innermost has
 * a text, which is cut off. Throws `SourceBroken` with the line where a file breaks off or is no XML. `long`: the
 * element that has a long text.
 */
export async function* xmlEvents(chunks: AsyncIterable<Uint8Array>, long?: string): AsyncGenerator<XmlEvent> {
  const parser = sax.parser(true, { position: true });
  let [text, maxLength] = ['', maxTextLength];
  let events: XmlEvent[] = [];
  let attributes = 0;
  let attributeLength = 0;
  const attributeLengths: number[] = []; // of the elements that are open
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
    // Its message has several lines, with a piece of the text.
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

/** What was thrown, so that what was read before it can be handed on first. */
function attempt(work: () => unknown): unknown {
  try {
    work();
    return null;
  } catch (error) {
    return error;
  }
}

function broken(parser: sax.SAXParser, found: string): SourceBroken {
  return new SourceBroken(`expected XML on line ${parser.line + 1}, found ${found}: everything before it was read`);
}

const localName = (name: string): string => name.slice(name.indexOf(':') + 1);

/** The name of the outermost element of a file that begins so, without prefix; null where it is no XML. */
export function rootName(head: Buffer): string | null {
  const text = head.toString('utf8');
  if (!/^\ufeff?\s*</.test(text)) return null;
  const [, name] =
    /<([A-Za-z_][\w.-]*:)?([A-Za-z_][\w.-]*)[\s>/]/.exec(text.replace(/<!--[\s\S]*?-->/g, ''))?.slice(1) ?? [];
  return name ?? null;
}
