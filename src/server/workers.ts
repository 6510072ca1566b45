// Starts the worker processes of a server, and replaces those that end.
import cluster, { type Worker } from 'node:cluster';
import { fileURLToPath } from 'node:url';
import { errorText, MobilityError } from '../model/mobility-error.ts';

const firstBackoff = 100; // ms before an ended worker is replaced; doubled after each failure
const longestBackoff = 10_000; // ms
const healthyLife = 60_000; // ms; a worker that lived longer is replaced after `firstBackoff`
const mostEarlyDeaths = 3; // workers killed before all listen; more are no accident
const killGrace = 5_000; // ms after the drain time until a worker is killed

const numberVariable = 'MOBILITY_WORKER_NUMBER'; // an environment variable of each worker

interface WorkersOptions {
  count: number;
  drainSeconds: number; // s that workers get to finish running calls
  onDeath: (text: string) => void; // called before a worker is replaced
}

/** Resolves when all workers listen. Throws `MOBILITY_CONFIG` if a worker fails before. */
export async function startWorkers({ count, drainSeconds, onDeath }: WorkersOptions) {
  const living = new Map<number, Worker>();
  const restarts = new Set<NodeJS.Timeout>();
  let state: 'starting' | 'running' | 'stopping' = 'starting';
  let deaths = 0;

  const mayReplace = (reason: string | number): boolean =>
    state === 'running' || (state === 'starting' && /^SIG/.test(`${reason}`) && deaths < mostEarlyDeaths);
  /** Resolves when this worker, or the next one of its number, listens. */
  const start = (number: number): Promise<number> =>
    new Promise((resolve, reject) => {
      const born = performance.now();
      const replace = (reason: string | number): void => {
        living.delete(number);
        const text = `a worker ended with ${reason} before it listened; its message above says why`;
        if (!mayReplace(reason)) {
          reject(new MobilityError('MOBILITY_CONFIG', text));
          return;
        }
        deaths = performance.now() - born > healthyLife ? 0 : deaths + 1;
        const wait = Math.min(firstBackoff * 2 ** deaths, longestBackoff);
        onDeath(`worker ${number} ended with ${reason}; the next one starts in ${wait} ms`);
        const timer = setTimeout(() => {
          restarts.delete(timer);
          resolve(start(number));
        }, wait);
        restarts.add(timer);
      };
      try {
        const worker = cluster.fork({ [numberVariable]: String(number) });
        living.set(number, worker);
        worker.once('listening', ({ port }) => resolve(port));
        onEnd(worker, replace);
      } catch (error) {
        replace(errorText(error));
      }
    });
  const stop = async (): Promise<void> => {
    state = 'stopping';
    for (const timer of restarts) clearTimeout(timer);
    await Promise.all([...living.values()].map((worker) => endWorker(worker, drainSeconds)));
  };

  const preload = fileURLToPath(new URL('../../bin/worker.cjs', import.meta.url));
  cluster.setupPrimary({ execArgv: [...process.execArgv, '--require', preload] });
  try {
    const [port] = await Promise.all(Array.from({ length: count }, (_, i) => start(i + 1)));
    state = 'running';
    return { port: port!, stop };
  } catch (error) {
    await stop();
    throw error;
  }
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
