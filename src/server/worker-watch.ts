// In the primary process: finds a worker that is stuck in an endless loop. Each worker sends a sign of life every
// second.
//
//     seconds     0    10    20    30
//     worker 1    ++++++++++++++++++++   answers
//     worker 2    ++------------------   silent for 28 s, used 27 s of CPU: replaced at 32 s
//     worker 3    ++------------------   silent, used no CPU (suspended, or in a debugger): not replaced

import cluster, { type Worker } from 'node:cluster';
import { readFileSync } from 'node:fs';

/** ms between signs of life, and between checks. */
const interval = 1_000;
/** ms. If a check is later than this, the primary itself did not run, and may have missed signs of life. */
const latest = 3_000;
/** ms without a sign of life. Chosen by hand: no call computes as long without a pause. */
const patience = 30_000;
/** s of CPU that a silent worker must have used within `patience`. With less it waits, for example for a disk. */
const leastCpu = 1;
/** Ticks per second in /proc, the same on every Linux. */
const ticks = 100;

/** Decides which worker must be replaced. Times are ms of a monotonic clock. */
export class WorkerWatch<W> {
  private readonly heard = new Map<W, { at: number; cpu: number | null }>();
  private readonly cpu: (worker: W) => number | null;
  private checked: number | null = null;

  /** `cpu`: s of CPU that a worker has used; null: unknown on this system. */
  constructor(cpu: (worker: W) => number | null) {
    this.cpu = cpu;
  }

  /** Records a sign of life, or the start of a worker. */
  hear(worker: W, now: number): void {
    this.heard.set(worker, { at: now, cpu: this.cpu(worker) });
  }

  forget(worker: W): void {
    this.heard.delete(worker);
  }

  /** Of the workers that are stuck, the one that has been silent for longest; null: no worker is stuck. */
  check(now: number): W | null {
    const isLate = this.checked !== null && now - this.checked > latest;
    this.checked = now;
    if (isLate) for (const worker of this.heard.keys()) this.hear(worker, now);
    const silent = [...this.heard].filter(([worker, { at, cpu }]) => {
      const used = now - at < patience || cpu === null ? null : this.cpu(worker);
      return used !== null && used - cpu! >= leastCpu;
    });
    return silent.sort(([, a], [, b]) => a.at - b.at)[0]?.[0] ?? null;
  }
}

/** s of CPU that a process has used, from Linux's /proc; null on other systems. */
function cpuOf(pid: number | undefined): number | null {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
    return (Number(fields[11]) + Number(fields[12])) / ticks;
  } catch {
    return null;
  }
}

const alive = { mobility: 'alive' };

/** In a worker: sends signs of life to the primary. */
export function sendSigns(): void {
  setInterval(() => cluster.worker?.isConnected() && cluster.worker.send(alive), interval).unref();
}

/** In the primary: kills stuck workers, one at a time. Returns a function that ends the watch. */
export function watchWorkers(onKill: (text: string) => void): () => void {
  const watch = new WorkerWatch<Worker>(({ process }) => cpuOf(process.pid));
  let killed: Worker | null = null;
  const onMessage = (worker: Worker, message: unknown): void => {
    const isSign = (message as typeof alive | null)?.mobility === alive.mobility;
    if (isSign && !worker.isDead()) watch.hear(worker, performance.now());
  };
  const onListening = (worker: Worker): void => {
    killed = null;
    watch.hear(worker, performance.now());
  };
  const onExit = (worker: Worker): void => watch.forget(worker);
  cluster.on('message', onMessage).on('listening', onListening).on('exit', onExit);
  const timer = setInterval(() => {
    const found = watch.check(performance.now());
    if (found === null || killed !== null) return; // one at a time, so that the other workers answer meanwhile
    killed = found;
    onKill(`process ${found.process.pid} has computed without an answer for ${patience / 1000} s and is replaced`);
    found.process.kill('SIGKILL');
  }, interval);
  return () => {
    clearInterval(timer);
    cluster.off('message', onMessage).off('listening', onListening).off('exit', onExit);
  };
}
