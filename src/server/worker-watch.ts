// In the primary: replaces a worker that is stuck in an endless loop. Workers send heartbeats.
//
//     seconds     0    10    20    30
//     worker 1    ++++++++++++++++++++   +: heartbeat
//     worker 2    ++------------------   silent for 30 s, used 27 s of CPU: replaced at 32 s
//     worker 3    ++------------------   silent, used no CPU (suspended, or debugged): not replaced
import cluster, { type Worker } from 'node:cluster';
import { readFileSync } from 'node:fs';

const interval = 1_000; // ms between heartbeats, and between checks
const latestCheck = 3_000; // ms; after a longer time without a check, heartbeats may have been missed
const patience = 30_000; // ms without a heartbeat, by hand: no call computes for so long
const leastCpu = 1; // s; a silent worker that used less CPU only waits, for example for a disk
const ticks = 100; // per second in /proc, the same on every Linux

/** Times are ms of a monotonic clock. `cpuOf`: s of CPU that a worker has used; NaN: unknown. */
export function createWorkerWatch<W>(cpuOf: (worker: W) => number) {
  // The last heartbeat of each worker, the oldest first, and the CPU that the worker had used then.
  const latest = new Map<W, { at: number; cpu: number }>();
  let checked = Number.POSITIVE_INFINITY;
  const forget = (worker: W): void => void latest.delete(worker);
  const record = (worker: W, now: number): void => {
    forget(worker);
    latest.set(worker, { at: now, cpu: cpuOf(worker) });
  };
  /** Returns the stuck worker that has been silent for longest. */
  const check = (now: number): W | undefined => {
    if (now - checked > latestCheck) for (const worker of [...latest.keys()]) record(worker, now);
    checked = now;
    const stuck = [...latest].find(([worker, { at, cpu }]) => now - at >= patience && cpuOf(worker) - cpu >= leastCpu);
    return stuck?.[0];
  };
  return { record, forget, check };
}

/** Seconds of CPU that a process has used, from Linux's /proc; NaN on other systems. */
function cpuOf({ process: { pid } }: Worker): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
    return (Number(fields[11]) + Number(fields[12])) / ticks;
  } catch {
    return Number.NaN;
  }
}

const heartbeat = 'mobility heartbeat';

export function sendHeartbeats(): void {
  setInterval(() => cluster.worker?.isConnected() && cluster.worker.send(heartbeat), interval).unref();
}

/** In the primary: kills one stuck worker at a time, so that the others answer meanwhile. */
export function watchWorkers(onKill: (text: string) => void): void {
  const watch = createWorkerWatch<Worker>(cpuOf);
  let isReplacing = false;
  cluster.on('message', (worker, message) => {
    if (message === heartbeat && !worker.isDead()) watch.record(worker, performance.now());
  });
  cluster.on('listening', (worker) => {
    isReplacing = false;
    watch.record(worker, performance.now());
  });
  cluster.on('exit', (worker) => watch.forget(worker));
  const check = (): void => {
    const stuck = watch.check(performance.now());
    if (stuck === undefined || isReplacing) return;
    isReplacing = true;
    onKill(`process ${stuck.process.pid} has computed without an answer for ${patience / 1000} s and is replaced`);
    stuck.process.kill('SIGKILL');
  };
  setInterval(check, interval).unref();
}
