// The bytes of a request body, within limits: as sent, as inflated, and little of strangers.
import type { Duplex } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { errorText } from '../model/errors.ts';
import type { BodyShare } from './body-budget.ts';
import { lookLength, tokenAtEnd, tokenAtStart } from './find-user.ts';
import { badRequest, forbidden, Problem, tooLarge } from './problem.ts';

/** Bytes of a body, decompressed, that are read and parsed before its sender is known. */
export const strangersLimit = 128 * 1024;

/** How many times its size a compressed body may inflate to. Batches of phones compress about ten to one. */
const maxInflation = 100;
const freelyInflated = 1024 * 1024; // bytes: below it the ratio does not matter

/** A body as it arrives, and the headers that describe it; null for a missing header. */
export interface IncomingBody {
  chunks: AsyncIterable<Uint8Array>;
  contentLength: string | null;
  contentEncoding: string | null;
  /** Over which it arrives; absent when the app is called in process. */
  connection?: Duplex | undefined;
}

/** What a body is read with. */
export interface BodyRules {
  /** Bytes, compressed and decompressed. */
  limit: number;
  /** Counts every byte held; its creator releases it. */
  share: BodyShare;
  /** Name of the top-level field that may hold the token; null: none does. */
  tokenField: string | null;
  /** True if the sender of the body is known. */
  isKnown(): boolean;
  /** Told the token that a look at the text found; throws the `Problem` to refuse with. */
  admit(token: string): Promise<void>;
}

/**
 * The whole body, inflated if it is gzip. A body over `strangersLimit` is read on only when `admit` has taken its
 * sender, whose token stands near its beginning or, uncompressed, near its end. Throws `Problem`s: 413 above `limit`
 * bytes as sent or as inflated, or `maxInflation`; 403 where nobody known sends a large body; 415 for another encoding;
 * 503 or 429 when the share cannot grow; 400 for a body that breaks off.
 */
export async function readBody(body: IncomingBody, rules: BodyRules): Promise<Buffer> {
  const { limit } = rules;
  const encoding = (body.contentEncoding ?? 'identity').trim().toLowerCase();
  if (!['', 'identity', 'gzip', 'x-gzip'].includes(encoding)) {
    throw new Problem(415, `expected Content-Encoding gzip or none, found ${JSON.stringify(encoding.slice(0, 40))}`, {
      code: 'MOBILITY_UNSUPPORTED',
      headers: { 'Accept-Encoding': 'gzip' },
    });
  }
  const declared = Number(body.contentLength ?? 0);
  if (declared > limit) throw overLimit(limit);
  const broken = 'the connection broke off before the end of the body';
  const pieces = new Pieces(body.chunks, rules.share, broken, body.connection);
  const reserve = reserveOnce(declared || 0, rules, pieces);
  if (encoding.endsWith('gzip')) return inflate(await collect(pieces, limit, rules, reserve), rules);
  const admit = admitByStart(rules);
  const look: Look = async (parts, size) => {
    await admit(parts, size);
    await reserve(parts, size);
  };
  const bytes = await collect(pieces, limit, rules, look, declared);
  if (bytes.length > strangersLimit && !rules.isKnown()) {
    const { tokenField } = rules;
    const token = tokenField === null ? null : (tokenAtStart(bytes, tokenField) ?? tokenAtEnd(bytes, tokenField));
    if (token === null) throw senderUnknown();
    await rules.admit(token);
  }
  return bytes;
}

/**
 * Waits for the room of a whole body as soon as its sender is known: what has it can come to its end, and what has not
 * holds little meanwhile.
 */
function reserveOnce(declared: number, { share, isKnown }: BodyRules, pieces: Pieces): Look {
  let reserved = false;
  return async (_, size) => {
    if (reserved || !isKnown()) return;
    reserved = true;
    if (declared > size) await share.reserve(declared - size, () => pieces.readAhead());
  };
}

/** Looks for the sender once, as soon as enough of the body is there. */
function admitByStart(rules: BodyRules): Look {
  let looked = false;
  return async (parts, size) => {
    const { tokenField } = rules;
    if (looked || tokenField === null || size < lookLength || rules.isKnown()) return;
    looked = true;
    const token = tokenAtStart(parts.length === 1 ? Buffer.from(parts[0]!) : Buffer.concat(parts), tokenField);
    if (token !== null) await rules.admit(token);
  };
}

/** Looks at what has arrived, at first at nothing; throws to stop the reading. */
type Look = (parts: readonly Uint8Array[], size: number) => Promise<void>;

/** The pieces of a body. They are read when they are needed, or ahead. */
class Pieces {
  readonly #iterator: AsyncIterator<Uint8Array>;
  readonly #share: BodyShare;
  readonly #broken: string;
  readonly #early: Uint8Array[] = [];
  readonly #connection: Duplex | undefined;
  #coming: Promise<IteratorResult<Uint8Array>> | null = null;
  #onClose: (() => void) | null = null;

  /** `broken` says what is wrong where the pieces end with an error. */
  constructor(chunks: AsyncIterable<Uint8Array>, share: BodyShare, broken: string, connection?: Duplex) {
    this.#iterator = chunks[Symbol.asyncIterator]();
    this.#share = share;
    this.#broken = broken;
    this.#connection = connection;
  }

  /**
   * The next piece, as soon as it may be read. Throws a `Problem`: 400 where they break off, 503 for an evicted body.
   */
  async next(): Promise<IteratorResult<Uint8Array>> {
    const value = this.#early.shift();
    if (value !== undefined) return { done: false, value };
    const pause = this.#share.readOn();
    if (pause !== undefined) await pause;
    const coming = this.#read();
    this.#coming = null;
    return coming;
  }

  /**
   * Reads a piece and keeps it for `next`; returns its bytes, 0 where `next` came before. Throws as `next`, and behind
   * the last piece when the connection closes.
   */
  async readAhead(): Promise<number> {
    const coming = this.#read();
    const piece = await coming;
    if (this.#coming !== coming) return 0;
    if (piece.done === true) return this.#closed();
    this.#coming = null;
    this.#early.push(piece.value);
    return piece.value.byteLength;
  }

  /** Lets go of the stream: what still comes of a refused body flows away, and the answer arrives. */
  close(): void {
    void this.#iterator.return?.().catch(() => {});
    if (this.#onClose !== null) this.#connection?.off('close', this.#onClose);
  }

  #closed(): Promise<never> {
    return new Promise((_, reject) => {
      this.#onClose = () => reject(badRequest('the connection closed while its body waited for room'));
      if (this.#connection?.destroyed) this.#onClose();
      else this.#connection?.once('close', this.#onClose);
    });
  }

  #read(): Promise<IteratorResult<Uint8Array>> {
    this.#coming ??= Promise.race([this.#iterator.next(), this.#share.evicted]).catch((error: unknown) => {
      if (error instanceof Problem) throw error;
      throw badRequest(`${this.#broken} (${errorText(error).slice(0, 80)})`);
    });
    return this.#coming;
  }
}

async function collect(
  pieces: Pieces,
  limit: number,
  { share, isKnown }: BodyRules,
  look?: Look,
  declared = 0,
): Promise<Buffer> {
  let parts: Uint8Array[] = [];
  // Where it is known how much comes, and that it may, each piece goes where it belongs: two copies are never held.
  let whole: Buffer | null = null;
  let size = 0;
  try {
    await look?.(parts, size);
    for (;;) {
      const next = await pieces.next();
      if (next.done === true) break;
      const begin = size;
      size += next.value.byteLength;
      if (size > limit) throw overLimit(limit);
      await share.arrive(next.value.byteLength);
      if (whole !== null) {
        whole.set(next.value, begin);
        continue;
      }
      parts.push(next.value);
      await look?.(parts, size);
      if (declared > size && isKnown()) {
        whole = Buffer.allocUnsafeSlow(declared);
        Buffer.concat(parts, size).copy(whole);
        parts = [];
      }
    }
  } finally {
    pieces.close();
  }
  if (whole !== null) return whole.subarray(0, size);
  return parts.length === 1 ? Buffer.from(parts[0]!.buffer, parts[0]!.byteOffset, size) : Buffer.concat(parts, size);
}

const inflateChunk = 256 * 1024; // bytes

async function inflate(sent: Buffer, rules: BodyRules): Promise<Buffer> {
  const { limit } = rules;
  const gunzip = createGunzip({ chunkSize: rules.isKnown() ? inflateChunk : lookLength });
  gunzip.end(sent);
  const admit = admitByStart(rules);
  const allowed = Math.max(freelyInflated, sent.length * maxInflation);
  try {
    return await collect(
      new Pieces(gunzip, rules.share, 'expected a whole gzip body'),
      limit,
      rules,
      async (parts, size) => {
        if (size > allowed) {
          throw tooLarge(
            `expected gzip that decompresses to at most ${maxInflation} times its size; send the body as it is`,
            {
              limit_bytes: limit,
              limit_inflation: maxInflation,
            },
          );
        }
        await admit(parts, size);
        if (size > strangersLimit && !rules.isKnown()) throw senderUnknown();
      },
    );
  } finally {
    gunzip.destroy(); // stops a bomb where it went over a limit
  }
}

function senderUnknown(): Problem {
  return forbidden(
    `expected a token with a body of more than ${strangersLimit} bytes: as "Authorization: Bearer TOKEN", or as a text in "user" ` +
      'at the beginning of the body or, without gzip, at its end',
  );
}

function overLimit(limit: number): Problem {
  return tooLarge(`expected a body of at most ${limit} bytes, compressed and decompressed; send it in smaller parts`, {
    limit_bytes: limit,
  });
}
