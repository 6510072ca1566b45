// Makes the archives of a server in processes of low priority, so that the calls of phones do not wait for them.
import { once } from 'node:events';
import { constants, setPriority } from 'node:os';
import { pipeline } from 'node:stream/promises';
import type { ArchiveRequest } from '../export/study-archive.ts';
import { usageError } from '../model/mobility-error.ts';
import type { CommandContext } from './context.ts';
import { forkProgram, leaveSignalsToParent } from './fork-program.ts';

/** The bytes of an archive from a new process. Ends the process when the reader stops. */
export async function* archiveFromProcess(
  context: CommandContext,
  request: ArchiveRequest,
): AsyncGenerator<Uint8Array> {
  const child = forkProgram(context, ['serve', '--archive'], 'pipe');
  // Set before the process starts threads: on Linux each thread has its own priority, taken from the one that made it.
  if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL);
  const exit = once(child, 'exit');
  exit.catch(() => {}); // awaited after the last byte
  child.send(request, () => {}); // if it cannot be sent, the process ends
  try {
    yield* child.stdout!;
    const [code, signal] = await exit;
    if (code !== 0) throw new Error(`the process of the archive ended with ${signal ?? `exit code ${code}`}`);
  } finally {
    child.kill('SIGKILL');
  }
}

/** Writes the archive that the parent process requests to standard output. Ends if the parent ends. */
export async function archiveForParent(context: CommandContext): Promise<void> {
  if (process.send === undefined) throw usageError('expected a parent process for --archive');
  leaveSignalsToParent();
  const onParentEnd = (): never => process.exit(1);
  process.once('disconnect', onParentEnd);
  const [request] = (await once(process, 'message')) as [ArchiveRequest];
  const { studyArchive } = await import('../export/study-archive.ts'); // not loaded by the server
  await pipeline(studyArchive(await context.store(), request), process.stdout, { end: false });
  process.off('disconnect', onParentEnd).disconnect();
}
