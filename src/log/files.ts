import cluster, { type Worker } from 'node:cluster';
import { errorText, MobilityError } from '../model/mobility-error.ts';
import { hostZone } from './line-format.ts';
import { createQueue } from './queue.ts';
import type { FileLogOptions } from './writer.ts';

export type FileLog = Awaited<ReturnType<typeof openFileLog>>;

/**
 * Throws `MOBILITY_CONFIG` if the folder cannot be written or locked. The opened log never throws.
 * A worker of a server sends its lines to the primary process, which must have opened its log
 * before. `close` resolves when every line is on disk and finished files are compressed.
 */
export async function openFileLog(options: FileLogOptions) {
  const { logLevel: level, threadId = `p${process.pid}`, warn } = options;
  const files = cluster.isWorker ? null : new (await import('./writer.ts')).LogFiles(options); // not loaded in workers
  await files?.open().catch((error) => {
    // The program also starts without a log. The log tries again with each batch.
    if (!transientCodes.has(error.code)) throw unwritable(options.logDir, error);
  });
  const write = files === null ? sendToPrimary : (lines: string) => files.write(lines);
  const queue = createQueue({ write, level, threadId, now: () => Date.now() / 1000, zone: hostZone(), warn });
  const receive = (_: Worker, message: { logLines?: unknown } | null): void => {
    const text = message?.logLines;
    if (typeof text === 'string') queue.push({ size: text.length, text: () => text });
  };
  cluster.on('message', receive);
  const close = async (): Promise<void> => {
    cluster.off('message', receive);
    await queue.close();
    await files?.close();
  };
  let closing: Promise<void> | undefined;
  return { log: queue.log, threadId, close: (): Promise<void> => (closing ??= close()) };
}

// These errors may end without a change of the settings, for example when the disk has space again.
const transientCodes: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EMFILE', 'ENFILE', 'EIO', 'EAGAIN']);

function unwritable(dir: string, error: unknown): MobilityError {
  return new MobilityError(
    'MOBILITY_CONFIG',
    `expected a folder for log files that can be written and locked, found ${dir} (${errorText(error)}); ` +
      'name another one with MOBILITY_LOG_DIR or --log-dir',
    { cause: error },
  );
}

/** Resolves when the lines have left this process. Ignores errors: the primary may have ended. */
function sendToPrimary(logLines: string): Promise<void> {
  return new Promise((resolve) => process.send!({ logLines }, undefined, {}, () => resolve()));
}
