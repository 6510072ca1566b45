// `mobility serve`: one process, or a primary process with workers, until it is told to stop.
import cluster from 'node:cluster';
import type { Config } from '../config.ts';
import type { FileLog } from '../log/files.ts';
import type { Log } from '../log/log.ts';
import { line } from '../log/messages.ts';
import { errorText, MobilityError } from '../model/errors.ts';
import type { Store } from '../store/store.ts';
import { type AppParts, callerLimits, createApp } from './app.ts';
import { CallerCounts } from './caller-limits.ts';
import { consoleLines, type Write } from './console-lines.ts';
import { createPasser, makeSocketPath, prepareSocket, type SocketPath } from './large-bodies.ts';
import { isLoopback } from './loopback.ts';
import { countCalls } from './metrics.ts';
import { checkAddress, type Serving, serve } from './serve.ts';
import { figuresOfAll, shareFigures } from './share-figures.ts';
import { shareUse } from './share-use.ts';
import { smallCalls } from './small-calls.ts';
import {
  giveWay,
  ignoreBrokenMessages,
  leavePrimary,
  startWorkers,
  tellListening,
  toldToStop,
  workerLargeBodies,
  workerNumber,
} from './workers.ts';

/** What a server is made from. */
export interface RunServerOptions {
  config: Config;
  /**
   * Opens the store; called once in each process, with `checkpointer` in one of them. Its provider closes what it
   * opened.
   */
  openStore: (options: { checkpointer: boolean; onWarning?: (message: string) => void }) => Promise<Store>;
  /**
   * Looks for damage of the store within a bounded time, and tells what it found; called once, in one process, when
   * the server listens.
   */
  damage: () => Promise<readonly string[]>;
  /**
   * Opens the server's log with that thread id; called once in each process. Workers send their lines to the primary.
   * Its provider closes it.
   */
  openLog: (threadId: string) => Promise<FileLog>;
  /** Aborted: stop accepting, finish what runs, resolve. */
  signal: AbortSignal;
  /** Seconds since the epoch. */
  now: () => number;
  /** Writes text to standard output: the lines of calls. */
  stdout: Write;
  /** Writes text to standard error: the address, exceptions, workers that died. */
  stderr: (text: string) => void;
}

/**
 * Serves until `signal` is aborted; resolves when every running call has its answer, or the drain time is over. With
 * several workers the program is run again with the same arguments for each: it must come to this function on the same
 * way. Throws `MOBILITY_CONFIG` when `dev` would listen to strangers, or the address is taken.
 */
export async function runServer(options: RunServerOptions): Promise<void> {
  refuseStrangers(options.config);
  if (cluster.isWorker) await runWorker(options);
  else if (options.config.workers === 1) await runAlone(options);
  else await runPrimary(options);
}

/**
 * With `dev`, anybody who reaches the server can name any user, so only this machine may, unless the operator allows
 * more.
 */
function refuseStrangers({ auth, host, devAnywhere }: Config): void {
  if (auth !== 'dev' || devAnywhere || isLoopback(host)) return;
  throw new MobilityError(
    'MOBILITY_CONFIG',
    `expected a loopback address with --auth dev, which lets every caller name any user; found ${host}. ` +
      'Use --auth token, or, in a network that you trust, set MOBILITY_DEV_ANYWHERE=true',
  );
}

async function runAlone(options: RunServerOptions): Promise<void> {
  const files = await options.openLog('w1');
  const { log } = files;
  const serving = await listen(options, files);
  announce(options, log, urlOf(serving));
  const told = tellDamage(options, log);
  await stopped(options.signal);
  await told;
  await serving.close();
  log.write('INFO', line.serverStopped());
}

async function runWorker(options: RunServerOptions): Promise<void> {
  ignoreBrokenMessages();
  const reads = workerLargeBodies()?.listens === true;
  if (reads) giveWay();
  const end = reads ? toldToStop() : stopped(options.signal);
  const files = await options.openLog(`w${workerNumber()}`);
  try {
    const serving = await listen(options, files);
    if (reads) tellListening();
    await end;
    await serving.close();
  } finally {
    await files.close(); // while the primary can receive its lines
    leavePrimary(); // as long as the two are connected, the process does not end
  }
}

async function runPrimary(options: RunServerOptions): Promise<void> {
  const { config } = options;
  // Checked here, so that a taken port is reported once and not by each worker.
  await checkAddress(config);
  // The primary opens the store before any worker does, so that only one process creates or migrates it.
  const warnings: string[] = [];
  await options.openStore({ checkpointer: true, onWarning: (text) => warnings.push(text) });
  const files = await options.openLog('main');
  for (const text of warnings) warn(options, files.log, text);
  shareFigures();
  const socket = await largeBodiesSocket(options, files.log);
  try {
    await workUntilStopped(options, files, socket);
  } finally {
    await socket?.remove();
  }
}

async function workUntilStopped(options: RunServerOptions, files: FileLog, socket: SocketPath | null): Promise<void> {
  const { config, signal, stderr } = options;
  const workers = await startWorkers({
    count: config.workers,
    largeBodies: socket?.path ?? null,
    drainSeconds: config.drainSeconds,
    onDeath: (text) => {
      files.log.write('ERROR', text);
      stderr(`mobility: ${text}\n`);
    },
  });
  announce(options, files.log, urlOf({ host: config.host, port: workers.port }));
  const told = tellDamage(options, files.log);
  await stopped(signal);
  await told;
  await workers.stop();
  files.log.write('INFO', line.serverStopped());
}

/** Null, with a warning, where there cannot be one. */
async function largeBodiesSocket(options: RunServerOptions, log: Log): Promise<SocketPath | null> {
  try {
    return await makeSocketPath();
  } catch (error) {
    warn(options, log, `small calls wait for large bodies: no socket for these can be made (${errorText(error)})`);
    return null;
  }
}

async function listen(options: RunServerOptions, { log, threadId }: FileLog): Promise<Serving> {
  const { config, now, stdout, stderr } = options;
  const store = await options.openStore({
    checkpointer: cluster.isPrimary,
    onWarning: (text) => cluster.isPrimary && warn(options, log, text),
  });
  const counts = new CallerCounts(callerLimits(config), now);
  const stopSharing = shareUse(counts, { use: store.use, now });
  const output = consoleLines({ write: stdout, log, warn: (text) => stderr(`mobility: ${text}\n`), now });
  const largeBodies = workerLargeBodies();
  const app = createApp({
    store,
    counts,
    ...(config.metrics && { metrics: metricsOfAll() }),
    log,
    console: output.write,
    config,
    now,
    errorOutput: (text) => stderr(`${text}\n`),
    thread: threadId,
    ...(largeBodies?.listens === false && {
      passing: { passOn: createPasser(largeBodies.path), smallCalls: smallCalls() },
    }),
  });
  if (largeBodies?.listens) await prepareSocket(largeBodies.path);
  const serving = await serve({ app, ...config, ...(largeBodies?.listens && { path: largeBodies.path }) });
  const close = async (): Promise<void> => {
    stopSharing();
    await serving.close();
    output.close();
  };
  return { ...serving, close };
}

/** Figures of the calls of all processes. */
function metricsOfAll(): NonNullable<AppParts['metrics']> {
  const { figures, text } = countCalls();
  return { figures, text: cluster.isWorker ? figuresOfAll : text };
}

function announce({ config, stderr }: RunServerOptions, log: Log, url: string): void {
  log.write('INFO', line.serverStarted(config.workers, url));
  stderr(`mobility listens on ${url} (workers: ${config.workers}, auth: ${config.auth})\n`);
}

/** Tells damage of the store. The server works on: what is damaged concerns some users, or none of today's calls. */
async function tellDamage(options: RunServerOptions, log: Log): Promise<void> {
  const texts = await options
    .damage()
    .catch((error) => [`the store could not be looked at for damage: ${errorText(error)}`]);
  for (const text of texts) warn(options, log, text);
}

/** Reports the warnings of the store, in the log and on standard error. */
function warn({ stderr }: RunServerOptions, log: Log, text: string): void {
  log.write('WARNING', text);
  stderr(`mobility: ${text}\n`);
}

/** Where the server answers. */
export function urlOf({ host, port }: { host: string; port: number }): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

async function stopped(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
