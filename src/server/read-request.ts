// Reads a request as a JSON object: its type, its bytes, its JSON and its entries.
import { isAscii, isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { type CheckedEntry, checkEntry } from '../intake/check-entry.ts';
import { isJsonObject, type JsonObject, kindOf } from '../model/json.ts';
import { badRequest, Problem } from './problem.ts';
import { type BodyRules, type IncomingBody, readBody } from './read-body.ts';
import { type JsonLimits, readJson } from './read-json.ts';

export interface RequestRules extends BodyRules {
  json: JsonLimits;
  list?: string; // the member of the body that is a list of entries
  /** An authenticated caller may send any body: the route gets it as text. */
  takesAnything?: boolean;
  /** Other fields that may hold the token. The token is copied to `tokenField`. */
  tokenParameters?: readonly string[];
}

export interface RequestBody {
  body: JsonObject; // empty if the request has no body
  list: readonly CheckedEntry[]; // the checked elements of the member `RequestRules.list`
  size: number; // decompressed bytes of the body
  note: string | null; // a warning for the log
  unread: string | null; // the text of a body that is not a JSON object, for routes of other apps
}

const largeBody = 256 * 1024; // bytes; a larger body waits for a slot before it is parsed
const longestForm = 64 * 1024; // characters of a form
const mostFields = 200; // fields of a form

const nothing: RequestBody = { body: {}, list: [], size: 0, note: null, unread: null };

/** Throws as `readBody` and `readJson` do. `incoming` is missing for a call within the process. */
export async function readRequest(
  request: Request,
  incoming: IncomingMessage | undefined,
  rules: RequestRules,
): Promise<RequestBody> {
  const { headers } = request;
  const type = headers.get('Content-Type');
  if (!jsonType.test(type ?? '') && !rules.takesAnything) {
    if (hasNoBody(request, incoming)) return nothing;
    const found = type === null ? 'none' : JSON.stringify(type.slice(0, 80));
    throw new Problem(415, `expected Content-Type application/json, found ${found}`, { code: 'MOBILITY_UNSUPPORTED' });
  }
  const bytes = await readBody(incomingBody(request, incoming), rules);
  if (bytes.length === 0) return nothing;
  const size = bytes.length;
  if (size > largeBody) await rules.share.slot();
  // Reading ASCII as Latin-1 is faster.
  const ascii = isAscii(bytes);
  const text = ascii ? bytes.toString('latin1') : bytes.toString('utf8').replace(/^\ufeff/, '');
  const note = ascii || isUtf8(bytes) ? null : 'the body is not UTF-8: invalid bytes were read as U+FFFD';
  // Frees the memory of a large body before the next full garbage collection.
  if (size > largeBody) structuredClone(bytes.buffer, { transfer: [bytes.buffer as ArrayBuffer] });
  const isForm = rules.takesAnything && (formType.test(type ?? '') || looksLikeForm.test(text));
  const form = isForm ? readForm(text) : null;
  if (form !== null) return { ...nothing, size, note, body: withToken(form, rules) };
  try {
    const reader = rules.list === undefined ? undefined : { name: rules.list, read: checkEntry };
    const { value, list } = await readJson(text, reader, rules.json);
    if (!isJsonObject(value)) throw badRequest(`expected a JSON object as body, found ${kindOf(value)}`);
    return { ...nothing, size, note, list, body: withToken(value, rules) };
  } catch (error) {
    if (!rules.takesAnything || !rules.isKnown() || !(error instanceof Problem) || error.status >= 500) throw error;
    return { ...nothing, size, unread: text };
  }
}

const jsonType = /^\s*application\/(?:json|[\w.+-]+\+json)\s*(?:;|$)/i;
const formType = /^\s*application\/x-www-form-urlencoded\s*(?:;|$)/i;

const looksLikeForm = /^\w+=[^\s<{]*$/; // some programs send a form as plain text: `id=1&lat=2`

/** Returns null for JSON, which some programs send with the type of a form, and for long texts. */
function readForm(text: string): JsonObject | null {
  if (/^\s*[[{]/.test(text) || text.length > longestForm) return null;
  return Object.fromEntries([...new URLSearchParams(text)].slice(0, mostFields));
}

function withToken(body: JsonObject, { tokenField, tokenParameters = [] }: RequestRules): JsonObject {
  const token = tokenParameters.map((name) => body[name]).find(Boolean);
  const isKnown = tokenField === null || token === undefined || (body[tokenField] ?? null) !== null;
  return isKnown ? body : { ...body, [tokenField]: token };
}

function hasNoBody({ headers, body }: Request, incoming: IncomingMessage | undefined): boolean {
  const length = headers.get('Content-Length');
  if (length !== null) return Number(length) === 0;
  return !headers.has('Transfer-Encoding') && (incoming !== undefined || body === null);
}

/**
 * Prefers Node's stream `incoming`: it takes less CPU, and the caller gets the answer even if the
 * body is not read to its end. Throws a 400 `Problem` for another `Transfer-Encoding` than
 * `chunked`, which Node does not decode.
 */
export function incomingBody(request: Request, incoming: IncomingMessage | undefined): IncomingBody {
  const { headers } = request;
  const coding = headers.get('Transfer-Encoding') ?? 'chunked';
  if (coding.toLowerCase() !== 'chunked')
    throw badRequest(`expected Transfer-Encoding chunked or none, found ${JSON.stringify(coding.slice(0, 40))}`);
  const sent = incoming && { [Symbol.asyncIterator]: () => incoming.iterator({ destroyOnReturn: false }) };
  return {
    chunks: sent ?? request.body ?? (async function* () {})(), // reading `request.body` starts a stream
    contentLength: headers.get('Content-Length'),
    contentEncoding: headers.get('Content-Encoding'),
  };
}
