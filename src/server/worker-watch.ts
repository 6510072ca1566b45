// In the primary process: finds a worker that computes without end. Each worker sends a sign of life every second.
//
//     seconds     0    10    20    30
//     worker 1    ++++++++++++++++++++   answers
//     worker 2    ++------------------   silent for 28 s, used 27 s of CPU: replaced at 32
//     worker 3    ++------------------   silent, used no CPU (the host is suspended, a debugger): left alone

import cluster, { type Worker } from 'node:cluster';
import { readFileSync } from 'node:fs';

/** ms between signs of life, and between checks. */
const interval = 1_000;
/** ms; a check this late means that the primary itself did not run: what it did not hear proves nothing. */
const latest = 3_000;
/** ms without a sign of life, by hand: no call takes as long in one slice. */
const patience = 30_000;
/** s of CPU within that time: the worker runs, and does not wait for a disk. */
const leastCpu = 1;
/** Ticks of a second in /proc, the same on every Linux. */
const ticks = 100;

/** Decides which worker has to be replaced. Times in ms of a clock that never goes back. */
export class WorkerWatch<W> {
  private readonly heard = new Map<W, { at: number; cpu: number | null }>();
  private readonly cpu: (worker: W) => number | null;
  private checked: number | null = null;

  /** `cpu`: s of CPU that a worker has used; null: not known on this system. */
  constructor(cpu: (worker: W) => number | null) {
    this.cpu = cpu;
  }

  /** Notes a sign of life, or the start of a worker. */
  hear(worker: W, now: number): void {
    this.heard.set(worker, { at: now, cpu: this.cpu(worker) });
  }

  forget(worker: W): void {
    this.heard.delete(worker);
  }

  /** The worker that has been silent for longest, if it computes without end; else null. */
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

/** s of CPU of a process, as Linux counts them; null elsewhere. */
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

/** In the primary: kills workers that compute without end, one at a time. Returns the function that ends it. */
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
    if (found === null || killed !== null) return; // one at a time: the others answer meanwhile
    killed = found;
    onKill(`process ${found.process.pid} has computed without an answer for ${patience / 1000} s and is replaced`);
    found.process.kill('SIGKILL');
  }, interval);
  return () => {
    clearInterval(timer);
    cluster.off('message', onMessage).off('listening', onListening).off('exit', onExit);
  };
}
