// The processes of a server with several workers: the primary starts and replaces them.
import cluster, { type Worker } from 'node:cluster';
import { errorText, MobilityError } from '../model/mobility-error.ts';

const firstBackoff = 100; // ms before a dead worker is replaced; doubled each time
const longestBackoff = 10_000; // ms
const healthyLife = 60_000; // ms of run time after which the end of a worker counts as its first failure
const killGrace = 5_000; // ms beyond the drain time before a worker is killed

// Not a setting: the primary passes its worker a number.
const numberVariable = 'MOBILITY_WORKER_NUMBER';

/** How many workers there are and what the primary does for them. */
export interface WorkersOptions {
  count: number;
  /** s that workers have to finish running calls. */
  drainSeconds: number;
  /** Called when a worker ended and is going to be replaced. */
  onDeath: (text: string) => void;
}

/** The running workers of a server. */
export interface Workers {
  /** The port they share. */
  port: number;
  /** Lets them finish and resolves when all have ended. */
  stop(): Promise<void>;
}

/** Starts workers and resolves when all listen. Throws `MOBILITY_CONFIG` if one ends before that. */
export async function startWorkers({ count, drainSeconds, onDeath }: WorkersOptions): Promise<Workers> {
  const living = new Map<number, Worker>();
  const restarts = new Set<NodeJS.Timeout>();
  let isReplacing = false;
  let deaths = 0;

  const fork = (number: number): void => {
    const born = performance.now();
    let worker: Worker;
    try {
      worker = cluster.fork({ [numberVariable]: String(number) });
    } catch (error) {
      if (!isReplacing) throw new MobilityError('MOBILITY_CONFIG', `cannot start a worker: ${errorText(error)}`);
      replace(number, errorText(error), born);
      return;
    }
    living.set(number, worker);
    onEnd(worker, (reason) => {
      living.delete(number);
      if (isReplacing) replace(number, reason, born);
    });
  };
  const replace = (number: number, reason: string | number, born: number): void => {
    deaths = performance.now() - born > healthyLife ? 0 : deaths + 1;
    const wait = Math.min(firstBackoff * 2 ** deaths, longestBackoff);
    onDeath(`worker ${number} ended with ${reason}; the next one starts in ${wait} ms`);
    const timer = setTimeout(() => {
      restarts.delete(timer);
      fork(number);
    }, wait);
    restarts.add(timer);
  };
  const stop = async (): Promise<void> => {
    isReplacing = false;
    for (const timer of restarts) clearTimeout(timer);
    await Promise.all([...living.values()].map((worker) => endWorker(worker, drainSeconds)));
  };

  try {
    for (let number = 1; number <= count; number += 1) fork(number);
    const [port] = await Promise.all([...living.values()].map(listening));
    isReplacing = true;
    return { port: port!, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The port of a worker, once it listens. */
function listening(worker: Worker): Promise<number> {
  return new Promise((resolve, reject) => {
    worker.once('listening', ({ port }) => resolve(port));
    onEnd(worker, (reason) => {
      const text = `a worker ended with ${reason} before it listened; its message above says why`;
      reject(new MobilityError('MOBILITY_CONFIG', text));
    });
  });
}

/**
 * Calls back once when a worker ends, or could not be started. Any other error concerns a message to a worker that has
 * just ended.
 */
function onEnd(worker: Worker, ended: (reason: string | number) => void): void {
  let isRunning = true;
  const end = (reason: string | number): void => {
    if (isRunning) ended(reason);
    isRunning = false;
  };
  worker.on('exit', (code, signal) => end(signal ?? code));
  worker.on('error', (error) => {
    if (worker.process.pid === undefined) end(errorText(error));
  });
}

async function endWorker(worker: Worker, drainSeconds: number): Promise<void> {
  if (worker.isDead()) return;
  const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
  worker.process.kill('SIGTERM');
  const killer = setTimeout(() => worker.process.kill('SIGKILL'), drainSeconds * 1000 + killGrace);
  await ended;
  clearTimeout(killer);
}

// ---------------------------------------------------------------- in the worker

/** Number of this worker, from 1. */
export function workerNumber(): number {
  return Number(process.env[numberVariable] ?? 1);
}

/** A worker whose primary has just ended will end too, without the error of a message to the primary. */
export function ignoreBrokenMessages(): void {
  cluster.worker?.on('error', () => {});
}

/** Disconnects from the primary, so that the process can end. Everything sent before still arrives. */
export function leavePrimary(): void {
  if (cluster.worker?.isConnected()) cluster.worker.disconnect();
}
