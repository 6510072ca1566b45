// Results as responses: JSON in one piece, or in pieces as they become ready.
import type { Call } from './call.ts';
import type { Answer } from './routes/route.ts';

/**
 * The response to a call that succeeded: status 200, a JSON object. A streamed one is noted in `call.streaming`;
 * `onBroken` is told why it broke off, when the status has long been sent.
 */
export async function jsonAnswer(call: Call, answer: Answer, onBroken: (error: unknown) => void): Promise<Response> {
  const init = {
    headers: {
      'Content-Type': 'application/json',
      'Cache-Control': 'no-store',
      'X-Request-Id': call.id,
    },
  };
  if (!(Symbol.asyncIterator in answer)) return new Response(JSON.stringify(answer), init);
  const pieces = answer[Symbol.asyncIterator]();
  // The first piece is made before the status is sent, so that what fails at once is still an honest error.
  const first = await pieces.next();
  const { stream, sent } = streamOf(pieces, first);
  call.streaming = sent.catch(onBroken);
  return new Response(stream, init);
}

function streamOf(pieces: AsyncIterator<string>, first: IteratorResult<string>) {
  const encoder = new TextEncoder();
  let next: IteratorResult<string> | null = first;
  let cancelled = false;
  let done: () => void;
  let fail: (error: unknown) => void;
  const sent = new Promise<void>((resolve, reject) => {
    done = resolve;
    fail = reject;
  });
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const piece = next ?? (await pieces.next());
        next = null;
        if (cancelled) return; // while the piece was being made, the client went away
        if (piece.done === true) {
          controller.close();
          done();
        } else {
          controller.enqueue(encoder.encode(piece.value));
        }
      } catch (error) {
        controller.error(new Error('the answer ended early'));
        fail(error);
      }
    },
    async cancel() {
      cancelled = true;
      await pieces.return?.();
      done();
    },
  });
  return { stream, sent };
}
