// The processes of a server with several workers: the primary starts and replaces them and takes their log lines.
import cluster, { type Worker } from 'node:cluster';
import type { Config } from '../config.ts';
import { workerLog } from '../log/worker-log.ts';
import { MobilityError } from '../model/errors.ts';

const firstBackoff = 100; // ms before a dead worker is replaced; doubled each time
const longestBackoff = 10_000; // ms
const healthyLife = 60_000; // ms of run time after which the end of a worker counts as its first failure
const killGrace = 5_000; // ms beyond the drain time before a worker is killed

/** How many workers there are and what the primary does for them. */
export interface WorkersOptions {
  count: number;
  /** s that workers have to finish running calls. */
  drainSeconds: number;
  /** Takes log lines of a worker, joined by line breaks. */
  onLines: (lines: string) => void;
  /** Told when a worker died and is going to be replaced. */
  onDeath: (text: string) => void;
}

/** The running workers of a server. */
export interface Workers {
  /** The port they share. */
  port: number;
  /** Lets them finish and resolves when all have ended. */
  stop(): Promise<void>;
}

/** Starts workers and resolves when all listen. Throws `MOBILITY_CONFIG` when one ends before that: it has said why. */
export async function startWorkers(options: WorkersOptions): Promise<Workers> {
  const living = new Map<number, Worker>();
  const waiting = new Set<NodeJS.Timeout>();
  let stopping = false;
  let started = false;
  let deaths = 0;

  const start = (number: number): void => {
    const born = performance.now();
    const worker = cluster.fork({ [numberVariable]: String(number) });
    living.set(number, worker);
    worker.on('message', (message: unknown) => {
      if (isLines(message)) options.onLines(message.lines);
    });
    worker.on('exit', (code, signal) => {
      living.delete(number);
      if (stopping || !started) return;
      deaths = performance.now() - born > healthyLife ? 0 : deaths + 1;
      const wait = Math.min(firstBackoff * 2 ** deaths, longestBackoff);
      options.onDeath(`worker ${number} ended with ${signal ?? code}; the next one starts in ${wait} ms`);
      const timer = setTimeout(() => {
        waiting.delete(timer);
        start(number);
      }, wait);
      waiting.add(timer);
    });
  };
  const stop = async (): Promise<void> => {
    stopping = true;
    for (const timer of waiting) clearTimeout(timer);
    await Promise.all([...living.values()].map((worker) => endWorker(worker, options.drainSeconds)));
  };

  cluster.setupPrimary({ serialization: 'advanced' }); // the lines of a large put as JSON cost twice as much
  for (let number = 1; number <= options.count; number += 1) start(number);
  try {
    const ports = await Promise.all([...living.values()].map(listening));
    started = true;
    return { port: ports[0]!, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function listening(worker: Worker): Promise<number> {
  return new Promise((resolve, reject) => {
    worker.once('listening', ({ port }) => resolve(port));
    worker.once('exit', (code, signal) => {
      const text = `a worker ended with ${signal ?? code} before it listened; what it said above tells why`;
      reject(new MobilityError('MOBILITY_CONFIG', text));
    });
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

const numberVariable = 'MOBILITY_WORKER_NUMBER'; // not a setting: the primary tells a worker its number

/** Number of this worker, from 1. */
export function workerNumber(): number {
  return Number(process.env[numberVariable] ?? 1);
}

interface Lines {
  mobility: 'log';
  lines: string;
}

const isLines = (message: unknown): message is Lines =>
  typeof message === 'object' &&
  (message as Partial<Lines> | null)?.mobility === 'log' &&
  typeof (message as Lines).lines === 'string';

/** A log whose lines the primary writes. */
export function createWorkerLog(
  { config, now }: { config: Pick<Config, 'logLevel'>; now: () => number },
  threadId: string,
) {
  return workerLog({ send: sendLines, threadId, level: config.logLevel, now });
}

async function sendLines(lines: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const message: Lines = { mobility: 'log', lines };
    cluster.worker!.process.send(message, (error) => (error === null ? resolve() : reject(error)));
  });
}

/** Lets go of the primary, so that the process can end. Everything sent before still arrives. */
export function leavePrimary(): void {
  if (cluster.worker?.isConnected()) cluster.worker.disconnect();
}
