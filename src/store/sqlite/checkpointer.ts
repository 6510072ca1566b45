// A thread that moves what was committed from the WAL into the files, so that no put has to.
import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import type * as Sqlite from '@photostructure/sqlite';

/** s between two looks. */
const interval = 0.1;
/** s; how long an ending process waits for the thread to come out of the engine. */
const patience = 5;

/** The thread that checkpoints the file of a store. */
export interface Checkpointer {
  /** Ends the thread; resolves when it has closed all files. */
  stop(): Promise<void>;
}

/** Which side may call the engine: a word of shared memory. */
const gate = { free: 0, inside: 1, closed: 2 } as const;

/**
 * Starts the thread. It does not keep the process alive; where it fails, writers checkpoint for themselves when the WAL
 * is large. `binding`: the module of the engine.
 */
export function startCheckpointer(
  path: string,
  binding = createRequire(import.meta.url).resolve('@photostructure/sqlite'),
): Checkpointer {
  // The thread's code is handed over as text: so it runs the same from compiled files and from sources.
  const source = `(${checkpointLoop})(require('node:worker_threads'), require)`;
  const state = new Int32Array(new SharedArrayBuffer(4));
  Atomics.store(state, 0, gate.inside);
  const workerData: LoopInput = { binding, path, pause: interval * 1000, state, gate };
  // No flags of this process: some of them say how a text is to be read.
  const worker = new Worker(source, { eval: true, execArgv: [], workerData });
  worker.unref();
  // A process that ends while the thread is inside the engine is aborted: it has to wait, and to keep the thread out
  // from then on.
  const shut = (): void => {
    while (Atomics.compareExchange(state, 0, gate.free, gate.closed) === gate.inside) {
      if (Atomics.wait(state, 0, gate.inside, patience * 1000) === 'timed-out') return;
    }
  };
  process.once('exit', shut);
  const ended = new Promise<void>((resolve) => {
    worker.once('exit', () => resolve());
    worker.once('error', () => resolve());
  });
  return {
    stop: async () => {
      worker.ref();
      worker.postMessage('stop');
      await ended;
      process.off('exit', shut);
    },
  };
}

interface LoopInput {
  binding: string;
  path: string;
  pause: number;
  state: Int32Array;
  gate: typeof gate;
}

/** Runs in the thread, and sees nothing but what it is given. Begins inside the gate. */
function checkpointLoop(threads: typeof import('node:worker_threads'), load: (path: string) => unknown): void {
  const { binding, path, pause, state, gate } = threads.workerData as LoopInput;
  const leave = (): void => {
    Atomics.store(state, 0, gate.free);
    Atomics.notify(state, 0);
  };
  const inside = (work: () => void): void => {
    if (Atomics.compareExchange(state, 0, gate.free, gate.inside) !== gate.free) return;
    try {
      work();
    } finally {
      leave();
    }
  };
  const open = () => {
    const { DatabaseSync } = load(binding) as typeof Sqlite;
    const database = new DatabaseSync(path, { timeout: 0 });
    database.exec('PRAGMA synchronous = FULL');
    const changes = database.prepare('PRAGMA data_version');
    const checkpoint = database.prepare('PRAGMA wal_checkpoint(PASSIVE)');
    return { database, changes, checkpoint, seen: -1, failures: 0, rest: 0 };
  };
  const look = (file: ReturnType<typeof open>): void => {
    if (file.rest-- > 0) return;
    file.rest = 0;
    try {
      const { data_version } = file.changes.get();
      if (data_version === file.seen) return;
      const { busy, log, checkpointed } = file.checkpoint.get();
      if (busy === 0 && log === checkpointed) file.seen = data_version;
      file.failures = 0;
    } catch {
      // A full disk, a file that another process recovers: it may be over the next time, and trying at once would not
      // help.
      file.failures = Math.min(file.failures + 1, 6);
      file.rest = 2 ** file.failures;
    }
  };
  let file: ReturnType<typeof open> | null = null;
  try {
    file = open();
  } finally {
    leave();
  }
  const timer = setInterval(() => inside(() => look(file)), pause);
  threads.parentPort?.once('message', () => {
    clearInterval(timer);
    inside(() => file.database.close());
  });
}
