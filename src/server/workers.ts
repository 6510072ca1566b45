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
export async function startWorkers(options: WorkersOptions): Promise<Workers> {
  const workers = new WorkerGroup(options);
  try {
    return { port: await workers.start(), stop: () => workers.stop() };
  } catch (error) {
    await workers.stop();
    throw error;
  }
}

class WorkerGroup {
  readonly #options: WorkersOptions;
  readonly #living = new Map<number, Worker>();
  readonly #restarts = new Set<NodeJS.Timeout>();
  #isReplacing = false;
  #deaths = 0;

  constructor(options: WorkersOptions) {
    this.#options = options;
  }

  /** Resolves with the port when all workers listen. */
  async start(): Promise<number> {
    for (let number = 1; number <= this.#options.count; number += 1) this.#fork(number);
    const [port] = await Promise.all([...this.#living.values()].map(listening));
    this.#isReplacing = true;
    return port!;
  }

  async stop(): Promise<void> {
    this.#isReplacing = false;
    for (const timer of this.#restarts) clearTimeout(timer);
    await Promise.all([...this.#living.values()].map((worker) => endWorker(worker, this.#options.drainSeconds)));
  }

  #fork(number: number): void {
    const born = performance.now();
    let worker: Worker;
    try {
      worker = cluster.fork({ [numberVariable]: String(number) });
    } catch (error) {
      if (!this.#isReplacing) throw new MobilityError('MOBILITY_CONFIG', `cannot start a worker: ${errorText(error)}`);
      this.#replace(number, errorText(error), born);
      return;
    }
    this.#living.set(number, worker);
    onEnd(worker, (reason) => {
      this.#living.delete(number);
      if (this.#isReplacing) this.#replace(number, reason, born);
    });
  }

  #replace(number: number, reason: string | number, born: number): void {
    this.#deaths = performance.now() - born > healthyLife ? 0 : this.#deaths + 1;
    const wait = Math.min(firstBackoff * 2 ** this.#deaths, longestBackoff);
    this.#options.onDeath(`worker ${number} ended with ${reason}; the next one starts in ${wait} ms`);
    const timer = setTimeout(() => {
      this.#restarts.delete(timer);
      this.#fork(number);
    }, wait);
    this.#restarts.add(timer);
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
