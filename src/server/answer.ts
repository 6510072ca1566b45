import { createHash } from 'node:crypto';
import { pipeline } from 'node:stream';
import { constants, createGzip } from 'node:zlib';
import type { Context } from 'hono';
import { streamBytes } from './byte-budget.ts';
import type { Call, ServerEnv } from './call.ts';
import { headersOf } from './problem.ts';
import type { Answer } from './routes/route.ts';

type OnBroken = (error: unknown) => void;

/** Answers a successful call. Throws a `Problem` if too many bytes of answers are unsent. */
export async function jsonAnswer(call: Call, answer: Answer, onBroken?: OnBroken): Promise<Response> {
  const headers = headersOf(call.id, 'application/json');
  if (Symbol.asyncIterator in answer) return streamedAnswer(call, answer, headers, onBroken);
  const text = JSON.stringify(answer);
  call.hold(Buffer.byteLength(text));
  return new Response(text, { headers });
}

/** Streams an answer. Compresses it if `headers` contain `Content-Encoding: gzip`. */
export async function streamedAnswer(
  call: Call,
  answer: AsyncIterable<string | Uint8Array>,
  headers: Record<string, string>,
  onBroken?: OnBroken,
): Promise<Response> {
  call.hold(streamBytes);
  const pieces = answer[Symbol.asyncIterator]();
  // The first piece is made before the status is sent, so that an early error gets its own status.
  const first = await pieces.next();
  // The answer to HEAD has no body: its pieces would never be read, so the call would never end.
  if (call.method === 'HEAD') {
    await pieces.return?.();
    return new Response(null, { headers });
  }
  let end = (): void => {};
  call.streaming = new Promise((resolve) => {
    end = resolve;
  });
  const leave = async () => {
    await pieces.return?.();
    end();
    return { done: true as const, value: undefined };
  };
  const encoder = new TextEncoder();
  let next: typeof first | null = first;
  // This is not a generator, whose `finally` would not run if the reader leaves before the first piece.
  const encoded: AsyncIterableIterator<Uint8Array> = {
    [Symbol.asyncIterator]: () => encoded,
    next: async () => {
      try {
        const { done, value } = next ?? (await pieces.next());
        next = null;
        if (done === true) return await leave();
        return { value: typeof value === 'string' ? encoder.encode(value) : value };
      } catch (error) {
        onBroken?.(error);
        await leave();
        throw new Error('the answer ended early');
      }
    },
    return: leave,
  };
  const isGzip = headers['Content-Encoding'] === 'gzip';
  // An error of `encoded` destroys the stream, so the reader sees a truncated answer.
  const bytes = isGzip ? pipeline(encoded, createGzip({ level: constants.Z_BEST_SPEED }), () => {}) : encoded;
  return new Response(ReadableStream.from(bytes) as ReadableStream<Uint8Array>, { headers });
}

/** Answers with 304 if the caller has the text. All answers share the bytes, so none counts them. */
export function fixedAnswer(text: string, type: string): (c: Context<ServerEnv>) => Response {
  const bytes = Buffer.from(text);
  const tag = `"${createHash('sha256').update(bytes).digest('hex').slice(0, 16)}"`;
  return (c) => {
    const headers = { ...headersOf(c.get('call').id, type), 'Cache-Control': 'no-cache', ETag: tag };
    const known = c.req.header('If-None-Match') ?? '';
    if (known === '*' || known.includes(tag)) return new Response(null, { status: 304, headers });
    return new Response(bytes, { headers });
  };
}
