// Reads a request body within limits. Authenticates the sender of a large body before its end.
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { parseJson } from '../model/json.ts';
import { errorText } from '../model/mobility-error.ts';
import type { BodyShare } from './byte-budget.ts';
import { badRequest, forbidden, Problem, tooLarge } from './problem.ts';

/** Decompressed bytes of a body that are read before its sender is authenticated. */
const strangersLimit = 128 * 1024;

const maxInflation = 100; // the largest ratio of decompressed to compressed size
const usualInflation = 10; // the usual ratio in batches of phones
const freelyInflated = 1024 * 1024; // bytes; a smaller body may have any ratio

export interface IncomingBody {
  chunks: AsyncIterable<Uint8Array>;
  contentLength: string | null;
  contentEncoding: string | null;
}

export interface BodyRules {
  limit: number; // bytes, before and after decompression
  share: BodyShare; // counts all held bytes; the caller of `readBody` must release them
  tokenField: string | null; // the top-level field that may contain the token
  isKnown(): boolean; // true if the sender is authenticated
  /** Authenticates the sender by the token in the body. Throws a `Problem` to refuse the body. */
  admit(token: string): Promise<void>;
}

/**
 * Returns the whole body, decompressed if it is gzip. The sender of a body over `strangersLimit`
 * must be authenticated by a header, by a token near the beginning of the body, or, without gzip,
 * by a token near its end. Throws a `Problem`: 400 for an incomplete body, 403 without a valid
 * token, 413 above a limit, 415 for another encoding than gzip, 429 or 503 if there is no room.
 */
export async function readBody(body: IncomingBody, rules: BodyRules): Promise<Buffer> {
  const { limit } = rules;
  const isGzip = isCompressed(body.contentEncoding);
  const declared = Number(body.contentLength ?? 0) || 0;
  if (declared > limit) throw overLimit(limit);
  const sent = arriving(body.chunks, rules);
  if (!isGzip) return collect(sent, declared, { ...rules, mayEndWithToken: true });
  const expected = Math.min(declared * usualInflation, limit);
  return collect(inflated(sent, limit), expected, { ...rules, mayEndWithToken: false });
}

function isCompressed(encoding: string | null): boolean {
  const name = (encoding ?? '').trim().toLowerCase();
  if (['', 'identity', 'gzip', 'x-gzip'].includes(name)) return name.endsWith('gzip');
  throw new Problem(415, `expected Content-Encoding gzip or none, found ${JSON.stringify(name.slice(0, 40))}`, {
    code: 'MOBILITY_UNSUPPORTED',
    headers: { 'Accept-Encoding': 'gzip' },
  });
}

/** Throws a `Problem`: 400 if the connection breaks, 503 if the byte budget is used up. */
async function* arriving(chunks: AsyncIterable<Uint8Array>, { limit, share }: BodyRules): AsyncGenerator<Uint8Array> {
  const iterator = chunks[Symbol.asyncIterator]();
  let size = 0;
  try {
    for (;;) {
      const next = await Promise.race([iterator.next(), share.ended]);
      if (next.done === true) return;
      size += next.value.byteLength;
      if (size > limit) throw overLimit(limit);
      yield next.value;
    }
  } catch (error) {
    throw brokenOff(error, 'the connection was closed before the end of the body');
  } finally {
    // This is not awaited, because the rest of a refused body is dropped only after the answer.
    void iterator.return?.().catch(() => {});
  }
}

const brokenOff = (error: unknown, what: string): Problem =>
  error instanceof Problem ? error : badRequest(`${what} (${errorText(error).slice(0, 80)})`);

/** Throws a `Problem`: 400 if the body is not gzip, 413 beyond `maxInflation`. */
async function* inflated(chunks: AsyncIterable<Uint8Array>, limit: number): AsyncGenerator<Uint8Array> {
  let sent = 0;
  let size = 0;
  const counted = (async function* () {
    for await (const chunk of chunks) {
      sent += chunk.byteLength;
      yield chunk;
    }
  })();
  const gunzip = createGunzip({ chunkSize: searchedLength });
  // If the source fails, the loop below throws its error.
  pipeline(Readable.from(counted), gunzip, () => {});
  try {
    for await (const chunk of gunzip as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > Math.max(freelyInflated, sent * maxInflation)) {
        throw tooLarge(
          `expected gzip that decompresses to at most ${maxInflation} times its size; send the body as it is`,
          { limit_bytes: limit, limit_inflation: maxInflation },
        );
      }
      yield chunk;
    }
  } catch (error) {
    throw brokenOff(error, 'expected a complete gzip body');
  }
}

/** Collects a body of about `expected` bytes (0: unknown). Authenticates its sender if needed. */
async function collect(
  pieces: AsyncIterable<Uint8Array>,
  expected: number,
  { limit, share, tokenField, isKnown, admit, mayEndWithToken }: BodyRules & { mayEndWithToken: boolean },
): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let size = 0;
  let hasLooked = tokenField === null;
  share.expected = expected;
  for await (const piece of pieces) {
    parts.push(piece);
    size += piece.byteLength;
    if (size > limit) throw overLimit(limit);
    if (!hasLooked && size >= searchedLength && !isKnown()) {
      hasLooked = true;
      const token = tokenAtStart(Buffer.concat(parts), tokenField!);
      if (token !== null) await admit(token);
    }
    if (size > strangersLimit && !mayEndWithToken && !isKnown()) throw senderUnknown();
    await share.hold(size);
  }
  share.isReceived = true;
  await share.hold(size);
  const bytes = Buffer.concat(parts, size);
  if (size > strangersLimit && !isKnown()) {
    const token = tokenField === null ? null : tokenAtEnd(bytes, tokenField);
    if (token === null) throw senderUnknown();
    await admit(token);
  }
  return bytes;
}

function senderUnknown(): Problem {
  return forbidden(
    `expected a token with a body of more than ${strangersLimit} bytes, found none at its beginning: send it as ` +
      '"Authorization: Bearer TOKEN", or as a text in "user" before the entries',
  );
}

function overLimit(limit: number): Problem {
  const detail = `expected a body of at most ${limit} bytes, before and after decompression; send it in smaller parts`;
  return tooLarge(detail, { limit_bytes: limit });
}

// The token is searched near both ends of a body, without parsing the body.
export const searchedLength = 64 * 1024; // bytes at each end

const text = '"(?:[^"\\\\]|\\\\.)*"';
const plain = `(?:${text}|[-+\\w.]+)`; // a text, number, true, false or null
const triesAtEnd = 8; // the last 8 occurrences of the field's name are tried

/**
 * Returns the text of a top-level field near the beginning of a JSON object; null if a list or
 * object precedes the field. The body may be invalid or repeat the field, so the caller must compare
 * the result with the parsed body.
 *
 *     {"user": "t1", "phone_to_server": [ …    t1
 *     {"phone_to_server": [ …                  null
 */
export function tokenAtStart(body: Buffer, field: string): string | null {
  const members = new RegExp(
    `^\\s*\\{\\s*(?:(?!"${field}")${text}\\s*:\\s*${plain}\\s*,\\s*)*"${field}"\\s*:\\s*(${text})`,
  );
  return parsed(members.exec(body.toString('latin1', 0, searchedLength))?.[1]);
}

const end = new RegExp(`\\s*:\\s*(${text})\\s*(?:,\\s*${text}\\s*:\\s*${plain}\\s*)*\\}\\s*$`, 'y');

/** Like `tokenAtStart`, but near the end of a JSON object; null if a list or object follows. */
export function tokenAtEnd(body: Buffer, field: string): string | null {
  const tail = body.toString('latin1', Math.max(0, body.length - searchedLength));
  const name = `"${field}"`;
  let at = tail.length;
  for (let tries = 0; tries < triesAtEnd; tries += 1) {
    at = at === 0 ? -1 : tail.lastIndexOf(name, at - 1);
    if (at === -1) return null;
    end.lastIndex = at + name.length;
    const found = end.exec(tail)?.[1];
    if (found !== undefined) return parsed(found);
  }
  return null;
}

/** Parses a JSON text whose bytes were read as Latin-1. */
const parsed = (found = ''): string | null =>
  (parseJson(Buffer.from(found, 'latin1').toString('utf8')) ?? null) as string | null;
