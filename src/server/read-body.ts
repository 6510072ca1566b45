// The bytes of a request body, within limits: per body as sent and as inflated, and for all bodies a process holds at once.
import { createGunzip } from 'node:zlib';
import { errorText } from '../model/errors.ts';
import { badRequest, Problem, tooLarge, unavailable } from './problem.ts';

/** What all calls of this process may hold at once. */
export class ByteBudget {
  readonly #limit: number;
  #used = 0;

  /** `limit` in bytes. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** A share of the budget that grows with a body. The only body there is always fits: no limit keeps it out for ever. */
  share(): ByteShare {
    let held = 0;
    const full = (more: number): boolean => this.#used > held && this.#used + more > this.#limit;
    return {
      check: (bytes) => {
        if (full(bytes)) throw tooMuchWaits();
      },
      grow: (bytes) => {
        if (full(bytes)) throw tooMuchWaits();
        this.#used += bytes;
        held += bytes;
      },
      release: () => {
        this.#used -= held;
        held = 0;
      },
    };
  }
}

/** The part of a `ByteBudget` that one call holds. */
export interface ByteShare {
  /** Throws a 503 `Problem` when so many bytes would not fit now. */
  check(bytes: number): void;
  /** Takes bytes; throws a 503 `Problem` when they do not fit. */
  grow(bytes: number): void;
  /** Gives back everything taken. */
  release(): void;
}

const tooMuchWaits = (): Problem =>
  unavailable('too many bodies wait on this server; nothing was stored by this call, send it again later');

/** A body as it arrives, and the headers that describe it; null where there is none. */
export interface IncomingBody {
  chunks: AsyncIterable<Uint8Array>;
  contentLength: string | null;
  contentEncoding: string | null;
}

/**
 * The whole body, inflated if it is gzip. Every byte held is taken from `share`, which the caller releases after the call. Throws
 * `Problem`s: 413 above `limit` bytes as sent or as inflated, 415 for another encoding, 503 when the budget is used up, 400 for a
 * body that breaks off.
 */
export async function readBody(body: IncomingBody, limit: number, share: ByteShare): Promise<Buffer> {
  const encoding = (body.contentEncoding ?? 'identity').trim().toLowerCase();
  if (!['', 'identity', 'gzip', 'x-gzip'].includes(encoding)) {
    throw new Problem(415, `expected Content-Encoding gzip or none, found ${JSON.stringify(encoding.slice(0, 40))}`, {
      code: 'MOBILITY_UNSUPPORTED',
      headers: { 'Accept-Encoding': 'gzip' },
    });
  }
  const declared = Number(body.contentLength ?? 0);
  if (declared > limit) throw overLimit(limit);
  share.check(declared || 0);
  const sent = await collect(body.chunks, limit, share, 'the connection broke off before the end of the body');
  return encoding.endsWith('gzip') ? inflate(sent, limit, share) : sent;
}

async function collect(
  chunks: AsyncIterable<Uint8Array>,
  limit: number,
  share: ByteShare,
  broken: string,
): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let size = 0;
  const iterator = chunks[Symbol.asyncIterator]();
  for (;;) {
    const next = await iterator.next().catch((error: unknown) => {
      throw badRequest(`${broken} (${errorText(error).slice(0, 80)})`);
    });
    if (next.done === true) break;
    size += next.value.byteLength;
    if (size > limit) throw overLimit(limit);
    share.grow(next.value.byteLength);
    parts.push(next.value);
  }
  return parts.length === 1 ? Buffer.from(parts[0]!.buffer, parts[0]!.byteOffset, size) : Buffer.concat(parts, size);
}

const inflateChunk = 256 * 1024; // bytes

async function inflate(bytes: Buffer, limit: number, share: ByteShare): Promise<Buffer> {
  const gunzip = createGunzip({ chunkSize: inflateChunk });
  gunzip.end(bytes);
  try {
    return await collect(gunzip, limit, share, 'expected a whole gzip body');
  } finally {
    gunzip.destroy(); // stops a bomb where it went over the limit
  }
}

function overLimit(limit: number): Problem {
  return tooLarge(`expected a body of at most ${limit} bytes, as sent and as inflated; send it in smaller parts`, {
    limit_bytes: limit,
  });
}
