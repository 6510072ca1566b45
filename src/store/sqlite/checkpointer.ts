// A thread that moves what was committed from the WAL into the files, so that no put has to.
import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import type * as Sqlite from '@photostructure/sqlite';

/** s between two looks. */
const interval = 0.1;

export interface Checkpointer {
  /** Ends the thread; resolves when it holds no file any more. */
  stop(): Promise<void>;
}

/** Starts the thread. It does not keep the process alive; where it fails, writers checkpoint for themselves when the WAL is large. */
export function startCheckpointer(paths: readonly string[]): Checkpointer {
  // The thread's code is handed over as text: so it runs the same from compiled files and from sources.
  const source = `(${checkpointLoop})(require('node:worker_threads'), require)`;
  const binding = createRequire(import.meta.url).resolve('@photostructure/sqlite');
  const workerData = { binding, paths, pause: interval * 1000 };
  // No flags of this process: some of them say how a text is to be read.
  const worker = new Worker(source, { eval: true, execArgv: [], workerData });
  worker.unref();
  const ended = new Promise<void>((resolve) => {
    worker.once('exit', () => resolve());
    worker.once('error', () => resolve());
  });
  return {
    stop: () => {
      worker.ref();
      worker.postMessage('stop');
      return ended;
    },
  };
}

/** Runs in the thread, and sees nothing but what it is given. */
function checkpointLoop(threads: typeof import('node:worker_threads'), load: (path: string) => unknown): void {
  const { binding, paths, pause } = threads.workerData as { binding: string; paths: string[]; pause: number };
  const { DatabaseSync } = load(binding) as typeof Sqlite;
  const files = paths.map((path) => {
    const database = new DatabaseSync(path, { timeout: 0 });
    database.exec('PRAGMA synchronous = FULL');
    const changes = database.prepare('PRAGMA data_version');
    const checkpoint = database.prepare('PRAGMA wal_checkpoint(PASSIVE)');
    return { database, changes, checkpoint, seen: -1, failures: 0, rest: 0 };
  });
  const look = (file: (typeof files)[number]): void => {
    if (file.rest-- > 0) return;
    file.rest = 0;
    try {
      const { data_version } = file.changes.get();
      if (data_version === file.seen) return;
      const { busy, log, checkpointed } = file.checkpoint.get();
      if (busy === 0 && log === checkpointed) file.seen = data_version;
      file.failures = 0;
    } catch {
      // A full disk, a file that another process recovers: it may be over the next time, and trying at once would not help.
      file.failures = Math.min(file.failures + 1, 6);
      file.rest = 2 ** file.failures;
    }
  };
  const timer = setInterval(() => {
    for (const file of files) look(file);
  }, pause);
  threads.parentPort?.once('message', () => {
    clearInterval(timer);
    for (const file of files) file.database.close();
  });
}
