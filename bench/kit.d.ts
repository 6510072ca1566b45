// Types of what the test of the measurements takes from the kit.
export function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T>;
export function startServer(
  store: string,
  how?: { workers?: number; env?: Record<string, string>; root?: string; limits?: boolean },
): Promise<{ port: number; stop(): Promise<void> }>;
export function createClient(
  port: number,
  connections?: number,
): { post(path: string, body: Buffer): Promise<string>; close(): void };
export function bodyOf(user: string, entries: readonly object[]): Buffer;
export function inLanes(count: number, lanes: number, work: (i: number) => Promise<unknown>): Promise<number[]>;
