// Results as responses: JSON in one piece, or in pieces as they become ready; and fixed texts.
import { createHash } from 'node:crypto';
import { pipeline } from 'node:stream';
import { constants, createGzip } from 'node:zlib';
import { streamBytes } from './byte-budget.ts';
import type { Call } from './call.ts';
import type { Answer } from './routes/route.ts';

/**
 * The response to a call that succeeded: status 200, a JSON object. For a streamed one `call.streaming` is set;
 * `onBroken` gets the error if it breaks off after its status was sent. Throws a `Problem` if too many answers of the
 * caller, or of all, are not sent yet.
 */
export async function jsonAnswer(call: Call, answer: Answer, onBroken: (error: unknown) => void): Promise<Response> {
  const headers = headersOf(call, 'application/json');
  if (Symbol.asyncIterator in answer) return streamedAnswer(call, answer, headers, onBroken);
  const text = JSON.stringify(answer);
  call.hold(Buffer.byteLength(text));
  return new Response(text, { headers });
}

/** The same for a text in pieces, with these headers. It is compressed if they say so. */
export async function streamedAnswer(
  call: Call,
  answer: AsyncIterable<string | Uint8Array>,
  headers: Record<string, string>,
  onBroken: (error: unknown) => void,
): Promise<Response> {
  call.hold(streamBytes);
  const pieces = answer[Symbol.asyncIterator]();
  // The first piece is made before the status is sent: an error that comes at once is answered as one.
  const first = await pieces.next();
  // HEAD has no body: without a reader of the pieces the call would stay open for ever.
  if (call.method === 'HEAD') {
    await pieces.return?.();
    return new Response(null, { headers });
  }
  let end = (): void => {};
  call.streaming = new Promise((resolve) => {
    end = resolve;
  });
  async function* encoded(): AsyncGenerator<Uint8Array> {
    const encoder = new TextEncoder();
    try {
      for (let next = first; next.done !== true; next = await pieces.next())
        yield typeof next.value === 'string' ? encoder.encode(next.value) : next.value;
    } catch (error) {
      onBroken(error);
      throw new Error('the answer ended early');
    } finally {
      await pieces.return?.();
      end();
    }
  }
  const isPacked = headers['Content-Encoding'] === 'gzip';
  // An error of `encoded` destroys the stream: the reader sees an answer that breaks off.
  const packed = () => pipeline(encoded(), createGzip({ level: constants.Z_BEST_SPEED }), () => {});
  const bytes = isPacked ? packed() : leavable(encoded(), async () => pieces.return?.().then(end));
  return new Response(ReadableStream.from(bytes) as ReadableStream<Uint8Array>, { headers });
}

/** Calls `onLeave` if the reader leaves: a generator that was not begun does not come to its `finally`. */
const leavable = <T>(made: AsyncGenerator<T>, onLeave: () => Promise<unknown>): AsyncIterable<T> => ({
  [Symbol.asyncIterator]: () => ({
    next: () => made.next(),
    return: async () => {
      await onLeave();
      return made.return(undefined);
    },
  }),
});

/** The headers of an answer that no cache may keep. */
export function headersOf(call: Call, type: string): Record<string, string> {
  return { 'Content-Type': type, 'Cache-Control': 'no-store', 'X-Request-Id': call.id };
}

/**
 * Returns the function that answers with a fixed text, which is made at the first call: its bytes are the same for all
 * callers, so unsent answers take no memory. 304 for a caller who has it.
 */
export function fixedAnswer(make: () => string, type: string): (call: Call, known?: string) => Response {
  let fixed: { bytes: Buffer<ArrayBuffer>; tag: string } | undefined;
  return (call, known = '') => {
    fixed ??= tagged(Buffer.from(make()));
    const headers = { ...headersOf(call, type), 'Cache-Control': 'no-cache', ETag: fixed.tag };
    if (known === '*' || known.includes(fixed.tag)) return new Response(null, { status: 304, headers });
    return new Response(fixed.bytes, { headers });
  };
}

const tagged = (bytes: Buffer<ArrayBuffer>) => ({
  bytes,
  tag: `"${createHash('sha256').update(bytes).digest('hex').slice(0, 16)}"`,
});
