// Runs `mobility serve`: one process, or a primary process with workers, until a signal stops it.
import cluster from 'node:cluster';
import { once } from 'node:events';
import type { Config } from '../config.ts';
import { audit } from '../log/audit-log.ts';
import { tryLock } from '../log/file-lock.ts';
import type { FileLog } from '../log/files.ts';
import { createStamp, hostZone } from '../log/line-format.ts';
import type { Level, Log } from '../log/log.ts';
import { line } from '../log/messages.ts';
import { errorText, MobilityError } from '../model/mobility-error.ts';
import { isLoopback } from '../model/networks.ts';
import type { Store } from '../store/store.ts';
import { checkEverything } from '../upkeep/check-installation.ts';
import { openTiles } from '../web/pmtiles.ts';
import type { AppParts } from './app-parts.ts';
import { countCalls } from './call-metrics.ts';
import { checkAddress, type Serving, serve } from './listen.ts';
import { answerMetricsRequests, metricsOfWorkers } from './worker-metrics.ts';
import { sendHeartbeats, watchWorkers } from './worker-watch.ts';
import { startWorkers, workerNumber } from './workers.ts';

const drainSeconds = 30; // s that running calls get to finish; a slow phone sends 600 kB in this time

export interface RunServerOptions extends Pick<AppParts, 'version' | 'makeArchive' | 'now'> {
  config: Config;
  /** Called once in each process. The caller of `runServer` closes store and log. */
  openStore: (options: { onWarning?: (message: string) => void }) => Promise<Store>;
  openLog: (threadId: string) => Promise<FileLog>;
  signal: AbortSignal;
  stdout: (text: string, done?: (error?: Error | null) => void) => unknown;
  stderr: (text: string) => void;
}

/**
 * Serves until `signal` is aborted and all calls have answers, or the drain time has passed. Throws
 * `MOBILITY_CONFIG`. A worker is the same program with the same arguments: it must call this too.
 */
export async function runServer(options: RunServerOptions): Promise<void> {
  const { auth, host, devAnywhere, workers } = options.config;
  if (auth === 'dev' && !devAnywhere && !isLoopback(host))
    throw new MobilityError(
      'MOBILITY_CONFIG',
      `expected a loopback address with --auth dev, which lets every caller name any user, found ${host}. ` +
        'Use --auth token, or, in a network that you trust, set MOBILITY_DEV_ANYWHERE=true',
    );
  if (cluster.isWorker) return runWorker(options);
  if (workers > 1) return runPrimary(options);
  const files = await options.openLog('w1');
  const { port, close: stop } = await listen(options, files);
  await runUntilStopped(options, files.log, { port, stop });
}

async function runPrimary(options: RunServerOptions): Promise<void> {
  const { config, openStore, openLog } = options;
  // The primary process checks the address, so that an unavailable port is reported only once.
  await checkAddress(config);
  if (config.tiles !== '') await (await openTiles(config.tiles)).close();
  // The primary opens the store first, so that only one process creates it.
  const warnings: string[] = [];
  await openStore({ onWarning: (text) => warnings.push(text) });
  const { log } = await openLog('main');
  for (const text of warnings) report(options, log, 'WARNING', text);
  answerMetricsRequests();
  const onDeath = (text: string): void => report(options, log, 'ERROR', text);
  const workers = await startWorkers({ count: config.workers, drainSeconds, onDeath });
  watchWorkers(onDeath);
  await runUntilStopped(options, log, workers);
}

async function runWorker(options: RunServerOptions): Promise<void> {
  const worker = cluster.worker!;
  sendHeartbeats();
  const stopping = aborted(options.signal);
  const files = await options.openLog(`w${workerNumber()}`);
  try {
    const serving = await listen(options, files);
    await stopping;
    await serving.close();
  } finally {
    await files.close(); // sends the last log lines to the primary, so the disconnect comes later
    if (worker.isConnected()) worker.disconnect(); // a connected worker does not end
  }
}

async function runUntilStopped(
  { config, signal, stderr }: RunServerOptions,
  log: Log,
  { port, stop }: { port: number; stop: () => Promise<void> },
) {
  const url = urlOf({ host: config.host, port });
  log.write('INFO', line.serverStarted(config.workers, url));
  stderr(`mobility listens on ${url} (workers: ${config.workers}, auth: ${config.auth})\n`);
  await aborted(signal);
  await stop();
  log.write('INFO', line.serverStopped());
}

async function listen(options: RunServerOptions, { log, threadId }: FileLog): Promise<Serving> {
  const { config, now, version, stderr } = options;
  const store = await options.openStore({
    onWarning: (text) => cluster.isPrimary && report(options, log, 'WARNING', text),
  });
  const { createApp } = await import('./app.ts'); // not loaded by the primary, which answers no calls
  const output = consoleLines(options, log);
  const app = createApp({
    store,
    log,
    config,
    now,
    version,
    thread: threadId,
    audit: (act) => audit(config.logDir, act),
    checks: () => checkEverything({ config: () => config, env: process.env, now, zone: hostZone() }, store),
    claim: (work) => tryLock(config.logDir, work),
    makeArchive: options.makeArchive,
    tiles: config.tiles === '' ? null : await openTiles(config.tiles),
    ...(config.metrics && { metrics: metricsOfAll() }),
    console: output.write,
    errorOutput: (text) => stderr(`${text}\n`),
  });
  const serving = await serve({ app, host: config.host, port: config.port, drainSeconds });
  const close = async (): Promise<void> => {
    await serving.close();
    output.close();
  };
  return { ...serving, close };
}

/** If the disk is full, lines are lost and counted, but no call fails. */
function consoleLines({ stdout, stderr, now }: RunServerOptions, log: Log) {
  const stamp = createStamp(hostZone());
  let lost: { lines: number; since: string; reason: string } | null = null;
  const report = (): void => {
    if (lost !== null)
      log.write('WARNING', line.dropped('Lines of standard output', lost.lines, lost.since, lost.reason));
    lost = null;
  };
  const fail = (error: Error): void => {
    if (lost === null) {
      lost = { lines: 0, since: stamp(now()), reason: errorText(error) };
      stderr(`mobility: lines of standard output have been dropped since ${lost.since}: ${lost.reason}\n`);
    }
    lost.lines += 1;
  };
  return {
    // A lost line may have been written in part, so the next text begins on a new line.
    write: (text: string): void => {
      stdout(lost === null ? `${text}\n` : `\n${text}\n`, (error) => (error == null ? report() : fail(error)));
    },
    close: report,
  };
}

function metricsOfAll(): NonNullable<AppParts['metrics']> {
  const { figures, registry } = countCalls();
  const text = cluster.isWorker ? metricsOfWorkers(() => registry.getMetricsAsJSON()) : () => registry.metrics();
  return { figures, text };
}

function report({ stderr }: RunServerOptions, log: Log, level: Level, text: string): void {
  log.write(level, text);
  stderr(`mobility: ${text}\n`);
}

export function urlOf({ host, port }: { host: string; port: number }): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}
