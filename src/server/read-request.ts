// What a caller sent, as a JSON object: checks the type, reads the bytes within limits, parses them.
import type { IncomingMessage } from 'node:http';
import { AlikeEntries } from '../intake/alike-entries.ts';
import { type Taken, takeEntry } from '../intake/take-entry.ts';
import type { JsonObject } from '../model/json.ts';
import { isJsonObject, kindOf } from '../model/json.ts';
import { badRequest, Problem } from './problem.ts';
import { type BodyRules, readBody } from './read-body.ts';
import { type JsonLimits, readJsonInTurns } from './read-json.ts';

/** What a request is read with. */
export interface RequestRules extends BodyRules {
  json: JsonLimits;
  /** Name of a member of the body that is a list of entries. */
  list?: string;
  /** True: a body of a known caller that is no JSON object is handed on as text. */
  takesAnything?: boolean;
}

/** A request, read. */
export interface RequestBody {
  /** Empty when there is no body. */
  body: JsonObject;
  /** The elements of the list, each looked at on its own. */
  list: Taken[];
  /** Bytes of the body, decompressed. */
  size: number;
  /** What had to be mended. */
  notes: string[];
  /** The text of a body that is no JSON object, where anything is taken. */
  unread: string | null;
}

/** Bytes from which on a body waits for its turn before it is parsed. */
const largeBody = 256 * 1024;

/** Characters that are kept of a body that is no JSON object. */
const unreadLimit = 64 * 1024;

/**
 * The body of a request. Throws `Problem`s: 415, 413, 403, 503, 429 and 400, see `readBody` and `readJson`. `incoming`
 * is the request of Node, absent when the app is called in process.
 */
export async function readRequest(
  request: Request,
  incoming: IncomingMessage | undefined,
  rules: RequestRules,
): Promise<RequestBody> {
  const type = request.headers.get('Content-Type');
  if (!isJsonType(type) && !rules.takesAnything) {
    if (hasNoBody(request, incoming)) return nothing;
    const found = type === null ? 'none' : JSON.stringify(type.slice(0, 80));
    throw new Problem(415, `expected Content-Type application/json, found ${found}`, { code: 'MOBILITY_UNSUPPORTED' });
  }
  const bytes = await readBody(
    {
      chunks: chunksOf(request, incoming),
      contentLength: request.headers.get('Content-Length'),
      contentEncoding: request.headers.get('Content-Encoding'),
      connection: incoming?.socket,
    },
    rules,
  );
  if (bytes.length === 0) return nothing;
  if (bytes.length > largeBody) await rules.share.turn();
  try {
    return await readObject(bytes, rules);
  } catch (error) {
    if (!rules.takesAnything || !rules.isKnown() || !(error instanceof Problem) || error.status >= 500) throw error;
    return { ...nothing, size: bytes.length, unread: bytes.toString('utf8', 0, unreadLimit) };
  }
}

const nothing: RequestBody = { body: {}, list: [], size: 0, notes: [], unread: null };

/** Of all bodies of the process: phones of one kind write alike. */
const alike = new AlikeEntries();

async function readObject(bytes: Buffer, rules: RequestRules): Promise<RequestBody> {
  const list = rules.list === undefined ? undefined : { name: rules.list, read: takeEntry, alike };
  const size = bytes.length;
  const letGo = (): void => {
    if (size > largeBody && !rules.takesAnything) giveBack(bytes);
  };
  // What strangers send is too short for any limit; what is longer comes from a known caller.
  const { value, list: taken, notes } = await readJsonInTurns(bytes, list, rules.json, letGo);
  if (isJsonObject(value)) return { body: value, list: taken, size, notes, unread: null };
  throw badRequest(`expected a JSON object as body, found ${kindOf(value)}`);
}

/**
 * Frees the memory of bytes that nobody needs any more. Those of a large body are old by then: without this, they stay
 * until the collector looks at everything, and several bodies are there for each that is at work.
 */
function giveBack(bytes: Buffer): void {
  const { buffer } = bytes;
  if (!(buffer instanceof ArrayBuffer) || buffer.byteLength > 2 * bytes.length) return; // shared with others
  structuredClone(buffer, { transfer: [buffer] });
}

/** `application/json` and its kin, whatever the parameters and letter case. */
function isJsonType(type: string | null): boolean {
  return type !== null && /^\s*application\/(?:json|[\w.+-]+\+json)\s*(?:;|$)/i.test(type);
}

function hasNoBody(request: Request, incoming: IncomingMessage | undefined): boolean {
  const length = request.headers.get('Content-Length');
  if (length !== null) return Number(length) === 0;
  if (request.headers.has('Transfer-Encoding')) return false;
  return incoming !== undefined || request.body === null;
}

/** Reads Node's own stream where there is one: it costs less, and leaving it half read does not cut off the answer. */
function chunksOf(request: Request, incoming: IncomingMessage | undefined): AsyncIterable<Uint8Array> {
  if (incoming !== undefined) {
    return { [Symbol.asyncIterator]: () => incoming.iterator({ destroyOnReturn: false }) };
  }
  return request.body ?? (async function* () {})();
}
