// Types of the generator, for the test that sends some of its requests.
export interface MalformedRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: Buffer | null;
}
export function malformedRequests(
  seed: number,
  paths: readonly string[],
  users?: readonly string[],
): Generator<MalformedRequest, never>;
export function isRefusal(answer: { status: number; text: string }, isOtherApp: boolean): boolean;
