// The processes of a server with several workers: the primary starts and replaces them, and one more that reads the
// large bodies of all.
import cluster, { type Worker } from 'node:cluster';
import { readdirSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';
import { errorText, MobilityError } from '../model/errors.ts';

const firstBackoff = 100; // ms before a dead worker is replaced; doubled each time
const longestBackoff = 10_000; // ms
const healthyLife = 60_000; // ms of run time after which the end of a worker counts as its first failure
const niceOfReader = 5; // above that of the workers
const killGrace = 5_000; // ms beyond the drain time before a worker is killed

/** How many workers there are and what the primary does for them. */
export interface WorkersOptions {
  count: number;
  /**
   * Where one more process, with the number after theirs, listens for large bodies; null: each worker reads its own.
   */
  largeBodies: string | null;
  /** s that workers have to finish running calls. */
  drainSeconds: number;
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
  let readerListens = false;
  let deaths = 0;

  const start = (number: number): void => {
    const born = performance.now();
    const isReader = number > options.count;
    cluster.setupPrimary({ execArgv: [...process.execArgv, ...youngGeneration(isReader)] });
    const ended = (reason: string | number): void => {
      living.delete(number);
      if (isReader) readerListens = false;
      if (stopping || !started) return;
      deaths = performance.now() - born > healthyLife ? 0 : deaths + 1;
      const wait = Math.min(firstBackoff * 2 ** deaths, longestBackoff);
      options.onDeath(`worker ${number} ended with ${reason}; the next one starts in ${wait} ms`);
      const timer = setTimeout(() => {
        waiting.delete(timer);
        start(number);
      }, wait);
      waiting.add(timer);
    };
    let worker: Worker;
    try {
      worker = cluster.fork({
        ...memorySettings(),
        [numberVariable]: String(number),
        [largeBodiesVariable]: options.largeBodies ?? '',
        [roleVariable]: isReader ? readerRole : '',
      });
    } catch (error) {
      if (!started) throw new MobilityError('MOBILITY_CONFIG', `no worker can be started: ${errorText(error)}`);
      ended(errorText(error));
      return;
    }
    living.set(number, worker);
    // The primary is not told of a socket that is a worker's own: the worker says it, see `tellListening`.
    if (isReader) worker.on('message', (message) => (readerListens ||= message === listens));
    onEnd(worker, ended);
  };
  const stop = async (): Promise<void> => {
    stopping = true;
    for (const timer of waiting) clearTimeout(timer);
    // First those that pass bodies on: what they have passed on is finished.
    const reader = living.get(options.count + 1);
    const others = [...living.values()].filter((worker) => worker !== reader);
    const drain = options.drainSeconds;
    await Promise.all(others.map((worker) => endWorker(worker, () => worker.process.kill('SIGTERM'), drain)));
    if (reader === undefined) return;
    // Nobody is left to answer: it need not finish anything. One that does not listen yet does not hear yet.
    const ask = () => (readerListens ? reader.send(stops, () => {}) : reader.process.kill('SIGKILL'));
    await endWorker(reader, ask, 0);
  };

  const all = options.count + (options.largeBodies === null ? 0 : 1);
  try {
    for (let number = 1; number <= all; number += 1) start(number);
    const [port] = await Promise.all([...living].map(([number, worker]) => listening(worker, number > options.count)));
    started = true;
    return { port: port!, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * Half of Node's size for what is new in memory, unless the operator names one: large bodies leave much of it alive,
 * and to collect it holds up every call. Where nothing but large bodies is read, a single thread collects it: that
 * takes longer, and less of the processors.
 */
function youngGeneration(isReader: boolean): string[] {
  const flag = '--max-semi-space-size';
  const given = [...process.execArgv, process.env.NODE_OPTIONS ?? ''].join(' ').replaceAll('_', '-');
  return [...(given.includes(flag) ? [] : [`${flag}=8`]), ...(isReader ? ['--no-parallel-scavenge'] : [])];
}

/**
 * The C library of Linux (glibc) gives blocks from 1 MiB on back to the system when they are freed. Without it, that
 * size grows to that of the largest block freed, and freed bodies leave gaps that only other bodies fill. Smaller
 * blocks stay with the process until 64 MiB of them are free at once: pieces of bodies come and go all the time.
 */
function memorySettings(): Record<string, string> {
  const settings = { MALLOC_MMAP_THRESHOLD_: 1024 * 1024, MALLOC_TRIM_THRESHOLD_: 64 * 1024 * 1024 };
  return Object.fromEntries(Object.entries(settings).map(([name, size]) => [name, process.env[name] ?? String(size)]));
}

/** The port of a worker, once it listens; of the process that reads large bodies, 0. */
function listening(worker: Worker, isReader: boolean): Promise<number> {
  return new Promise((resolve, reject) => {
    if (isReader) worker.on('message', (message) => message === listens && resolve(0));
    else worker.once('listening', ({ port }) => resolve(port));
    onEnd(worker, (reason) => {
      const text = `a worker ended with ${reason} before it listened; what it said above tells why`;
      reject(new MobilityError('MOBILITY_CONFIG', text));
    });
  });
}

/**
 * Calls back when a worker ends, also one that could not be started. Any other error is that of a message to a worker
 * that has just ended.
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

async function endWorker(worker: Worker, ask: () => void, drainSeconds: number): Promise<void> {
  if (worker.isDead()) return;
  const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
  ask();
  const killer = setTimeout(() => worker.process.kill('SIGKILL'), drainSeconds * 1000 + killGrace);
  await ended;
  clearTimeout(killer);
}

// ---------------------------------------------------------------- in the worker

// Not settings: the primary tells a worker its number and where large bodies go.
const numberVariable = 'MOBILITY_WORKER_NUMBER';
const largeBodiesVariable = 'MOBILITY_WORKER_LARGE_BODIES';
const roleVariable = 'MOBILITY_WORKER_ROLE';
const readerRole = 'large-bodies';
// What that process and the primary tell each other.
const listens = 'large-bodies-listen';
const stops = 'large-bodies-stop';

/** Number of this worker, from 1. */
export function workerNumber(): number {
  return Number(process.env[numberVariable] ?? 1);
}

/** The path for large bodies, and whether this process listens there or passes them on; null: it reads them itself. */
export function workerLargeBodies(): { path: string; listens: boolean } | null {
  const path = process.env[largeBodiesVariable] ?? '';
  return path === '' ? null : { path, listens: process.env[roleVariable] === readerRole };
}

/**
 * Where processors are scarce, small calls come before large bodies. The pipeline of docs/operations.md, at 10, comes
 * after both.
 */
export function giveWay(): void {
  const nice = Math.min(getPriority() + niceOfReader, 19);
  // On Linux each thread has a priority of its own. 0: this one.
  const threads = process.platform === 'linux' ? readdirSync('/proc/self/task').map(Number) : [0];
  for (const thread of threads) {
    try {
      setPriority(thread, nice);
    } catch {
      // The thread has ended, or this is not allowed: then it goes on as it is.
    }
  }
}

/** A worker whose primary has just ended will end too: it need not end with the error of a message to the primary. */
export function ignoreBrokenMessages(): void {
  cluster.worker?.on('error', () => {});
}

/** Tells the primary that large bodies can be passed on. */
export function tellListening(): void {
  cluster.worker?.send(listens);
}

/**
 * Resolves when the primary asks the process that reads large bodies to stop. It takes no notice of signals, which may
 * go to all processes at once: workers pass on what they have begun.
 */
export function toldToStop(): Promise<void> {
  return new Promise((resolve) => {
    process.on('message', (message) => message === stops && resolve());
  });
}

/** Lets go of the primary, so that the process can end. Everything sent before still arrives. */
export function leavePrimary(): void {
  if (cluster.worker?.isConnected()) cluster.worker.disconnect();
}
