// What a caller sent, as a JSON object: checks the type, reads the bytes within limits, parses them.
import type { IncomingMessage } from 'node:http';
import { type Taken, takeEntry } from '../intake/take-entry.ts';
import type { JsonObject } from '../model/json.ts';
import { isJsonObject } from '../model/json.ts';
import { badRequest, Problem } from './problem.ts';
import { type ByteShare, readBody } from './read-body.ts';
import { readJson } from './read-json.ts';

/**
 * The body as an object, empty when there is no body; `notes` say what had to be mended. Throws `Problem`s: 415, 413, 503 and 400,
 * see `readBody` and `readJson`. `listName`: a list of entries in the body. `incoming` is the request of Node, absent when the app is called in process.
 */
export async function readRequest(
  request: Request,
  incoming: IncomingMessage | undefined,
  limit: number,
  share: ByteShare,
  listName?: string,
): Promise<{ body: JsonObject; list: Taken[]; notes: string[] }> {
  const type = request.headers.get('Content-Type');
  if (!isJsonType(type)) {
    if (hasNoBody(request, incoming)) return { body: {}, list: [], notes: [] };
    const found = type === null ? 'none' : JSON.stringify(type.slice(0, 80));
    throw new Problem(415, `expected Content-Type application/json, found ${found}`, { code: 'MOBILITY_UNSUPPORTED' });
  }
  const bytes = await readBody(
    {
      chunks: chunksOf(request, incoming),
      contentLength: request.headers.get('Content-Length'),
      contentEncoding: request.headers.get('Content-Encoding'),
    },
    limit,
    share,
  );
  if (bytes.length === 0) return { body: {}, list: [], notes: [] };
  const { value, list, notes } = readJson(
    bytes,
    listName === undefined ? undefined : { name: listName, read: takeEntry },
  );
  if (isJsonObject(value)) return { body: value, list, notes };
  throw badRequest(`expected a JSON object as body, found ${Array.isArray(value) ? 'an array' : 'a plain value'}`);
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
