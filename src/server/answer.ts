// Results as responses: JSON in one piece, or in pieces as they become ready.
import type { Call } from './call.ts';
import type { Answer } from './routes/route.ts';

/**
 * The response to a call that succeeded: status 200, a JSON object. For a streamed one `call.streaming` is set;
 * `onBroken` gets the error if it breaks off after its status was sent.
 */
export async function jsonAnswer(call: Call, answer: Answer, onBroken: (error: unknown) => void): Promise<Response> {
  const headers = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store', 'X-Request-Id': call.id };
  if (!(Symbol.asyncIterator in answer)) return new Response(JSON.stringify(answer), { headers });
  const pieces = answer[Symbol.asyncIterator]();
  // The first piece is made before the status is sent: an error that comes at once is answered as one.
  const first = await pieces.next();
  let end = (): void => {};
  call.streaming = new Promise((resolve) => {
    end = resolve;
  });
  async function* encoded(): AsyncGenerator<Uint8Array> {
    const encoder = new TextEncoder();
    try {
      for (let next = first; next.done !== true; next = await pieces.next()) yield encoder.encode(next.value);
    } catch (error) {
      onBroken(error);
      throw new Error('the answer ended early');
    } finally {
      await pieces.return?.();
      end();
    }
  }
  return new Response(ReadableStream.from(encoded()) as ReadableStream<Uint8Array>, { headers });
}
