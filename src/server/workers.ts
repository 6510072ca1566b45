// Starts the worker processes of a server, and replaces those that end.
import cluster, { type Worker } from 'node:cluster';
import { errorText, MobilityError } from '../model/mobility-error.ts';

const firstBackoff = 100; // ms before an ended worker is replaced; doubled after each failure
const longestBackoff = 10_000; // ms
const healthyLife = 60_000; // ms; a worker that lived longer is replaced after `firstBackoff`
const killGrace = 5_000; // ms after the drain time until a worker is killed

const numberVariable = 'MOBILITY_WORKER_NUMBER'; // an environment variable of each worker

interface WorkersOptions {
  count: number;
  drainSeconds: number; // s that workers get to finish running calls
  onDeath: (text: string) => void; // called before a worker is replaced
}

/** Resolves when all workers listen. Throws `MOBILITY_CONFIG` if a worker ends before. */
export async function startWorkers({ count, drainSeconds, onDeath }: WorkersOptions) {
  const living = new Map<number, Worker>();
  const restarts = new Set<NodeJS.Timeout>();
  let isReplacing = false;
  let deaths = 0;

  const fork = (number: number): void => {
    const born = performance.now();
    try {
      const worker = cluster.fork({ [numberVariable]: String(number) });
      living.set(number, worker);
      onEnd(worker, (reason) => {
        living.delete(number);
        if (isReplacing) replace(number, reason, born);
      });
    } catch (error) {
      if (!isReplacing) throw new MobilityError('MOBILITY_CONFIG', `cannot start a worker: ${errorText(error)}`);
      replace(number, errorText(error), born);
    }
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

function listening(worker: Worker): Promise<number> {
  return new Promise((resolve, reject) => {
    worker.once('listening', ({ port }) => resolve(port));
    onEnd(worker, (reason) => {
      const text = `a worker ended with ${reason} before it listened; its message above says why`;
      reject(new MobilityError('MOBILITY_CONFIG', text));
    });
  });
}

/** Calls `ended` once. Ignores errors of messages to a worker that has just ended. */
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
  const ended = new Promise((resolve) => worker.once('exit', resolve));
  worker.process.kill('SIGTERM');
  const killer = setTimeout(() => worker.process.kill('SIGKILL'), drainSeconds * 1000 + killGrace);
  await ended;
  clearTimeout(killer);
}

export const workerNumber = (): number => Number(process.env[numberVariable] ?? 1);
