import cluster from 'node:cluster';
import { Option } from '@commander-js/extra-typings';
import { packageVersion } from '../../util/program-version.ts';
import { archiveForParent, archiveFromProcess } from '../archive-process.ts';
import { DocumentedCommand } from '../arguments.ts';
import type { CommandContext, SettingFlags } from '../context.ts';

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
        // Loaded here, because other commands need no server and would start later.
        const { runServer } = await import('../../server/run-server.ts');
        await runServer({
          config,
          // If the folder is missing when a worker is replaced, the new worker must not create an empty store.
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
