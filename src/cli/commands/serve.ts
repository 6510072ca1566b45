import cluster from 'node:cluster';
import { once } from 'node:events';
import { constants, setPriority } from 'node:os';
import { pipeline } from 'node:stream/promises';
import { Option } from '@commander-js/extra-typings';
import type { ArchiveRequest } from '../../export/study-archive.ts';
import { usageError } from '../../model/mobility-error.ts';
import { packageVersion } from '../../util/program-version.ts';
import { DocumentedCommand } from '../arguments.ts';
import type { CommandContext, SettingFlags } from '../context.ts';
import { forkProgram, leaveSignalsToParent } from '../worker-pool.ts';

export function command(context: CommandContext) {
  return new DocumentedCommand('serve')
    .examples(`
  mobility serve
  mobility serve --auth dev --port 8080 --store sqlite:./data

START and END lines of calls go to standard output, everything else to the log files.
At SIGTERM or Ctrl-C, the server finishes the running calls.`)
    .option('--host <address>', 'address to listen on (MOBILITY_HOST; default 127.0.0.1)')
    .option('--port <n>', 'port to listen on; 0: any free port (MOBILITY_PORT; default 8080)')
    .option('--workers <n>', 'processes that answer calls (MOBILITY_WORKERS; default 2)')
    .addOption(
      new Option(
        '--auth <method>',
        'how callers identify themselves: token, or dev (MOBILITY_AUTH; default token)',
      ).choices(['token', 'dev']),
    )
    .option('--open-registration', 'with dev: /profile/create registers any name (MOBILITY_OPEN_REGISTRATION)')
    .addOption(new Option('--archive', 'make an archive for a parent process').hideHelp())
    .action(
      context.run(async (_, { archive, ...flags }: SettingFlags & { archive?: true }) => {
        if (archive) {
          await archiveForParent(context);
          return {};
        }
        const config = context.config(flags);
        // Loaded only here: `--help` and the process that makes an archive need no server and start sooner.
        const { runServer } = await import('../../server/run-server.ts');
        await runServer({
          config,
          // A new worker must not create an empty store if the folder was removed.
          openStore: (options) => context.store({ ...options, make: cluster.isPrimary }),
          openLog: (threadId) => context.logFiles('server', threadId),
          makeArchive: (request) => archiveFromProcess(context, request),
          signal: context.interruptible(),
          now: context.now,
          version: packageVersion(),
          stdout: context.writeOut,
          stderr: context.writeErr,
        });
        return { exitCode: 0 };
      }),
    );
}

/** Makes an archive in a process of low priority, so that the calls of phones do not wait. */
async function* archiveFromProcess(context: CommandContext, request: ArchiveRequest): AsyncGenerator<Uint8Array> {
  const child = forkProgram(context, ['serve', '--archive'], 'pipe');
  // Set before the process starts threads, which on Linux inherit the priority.
  if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL);
  const exit = once(child, 'exit');
  exit.catch(() => {}); // an error is thrown after the last byte, where `exit` is awaited
  child.send(request, () => {}); // fails if the child has ended; the exit code is checked below
  try {
    yield* child.stdout!;
    const [code, signal] = await exit;
    if (code !== 0) throw new Error(`the process of the archive ended with ${signal ?? `exit code ${code}`}`);
  } finally {
    child.kill('SIGKILL');
  }
}

async function archiveForParent(context: CommandContext): Promise<void> {
  if (process.send === undefined) throw usageError('expected a parent process for --archive');
  leaveSignalsToParent();
  const onParentEnd = (): never => process.exit(1);
  process.once('disconnect', onParentEnd);
  const [request] = (await once(process, 'message')) as [ArchiveRequest];
  const { studyArchive } = await import('../../export/study-archive.ts'); // only loaded here
  await pipeline(studyArchive(await context.store(), request), process.stdout, { end: false });
  process.off('disconnect', onParentEnd).disconnect();
}
