// In the primary process: replaces a worker that is stuck in an endless loop. Each worker sends a heartbeat every
// second.
//
//     seconds     0    10    20    30
//     worker 1    ++++++++++++++++++++   +: heartbeat
//     worker 2    ++------------------   silent for 30 s, used 27 s of CPU: replaced at 32 s
//     worker 3    ++------------------   silent, used no CPU (suspended, or in a debugger): not replaced
import cluster, { type Worker } from 'node:cluster';
import { readFileSync } from 'node:fs';

const interval = 1_000; // ms between heartbeats, and between checks
/** ms. If a check is later than this, the primary itself did not run, and may have missed heartbeats. */
const latestCheck = 3_000;
/** ms without a heartbeat. Chosen by hand: no call computes for so long without a pause. */
const patience = 30_000;
/** Seconds of CPU. A silent worker that used less since its heartbeat is not in a loop: it waits, as for a disk. */
const leastCpu = 1;
const ticks = 100; // per second in /proc, the same on every Linux

/** Decides which worker must be replaced. Times are ms of a monotonic clock. */
export class WorkerWatch<W> {
  private readonly latest = new Map<W, { at: number; cpu: number | null }>();
  private readonly cpu: (worker: W) => number | null;
  private checked: number | null = null;

  /** `cpu`: seconds of CPU that a worker has used; null: unknown on this system. */
  constructor(cpu: (worker: W) => number | null) {
    this.cpu = cpu;
  }

  /** Records a heartbeat, or the start of a worker. */
  record(worker: W, now: number): void {
    this.latest.set(worker, { at: now, cpu: this.cpu(worker) });
  }

  forget(worker: W): void {
    this.latest.delete(worker);
  }

  /** Of the workers that are stuck, the one that has been silent for longest; null: no worker is stuck. */
  check(now: number): W | null {
    const isLate = this.checked !== null && now - this.checked > latestCheck;
    this.checked = now;
    if (isLate) for (const worker of this.latest.keys()) this.record(worker, now);
    const silent = [...this.latest].filter(([worker, { at, cpu }]) => {
      const used = now - at < patience || cpu === null ? null : this.cpu(worker);
      return used !== null && used - cpu! >= leastCpu;
    });
    return silent.sort(([, a], [, b]) => a.at - b.at)[0]?.[0] ?? null;
  }
}

/** Seconds of CPU that a process has used, from Linux's /proc; null on other systems. */
function cpuOf(pid: number | undefined): number | null {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
    return (Number(fields[11]) + Number(fields[12])) / ticks;
  } catch {
    return null;
  }
}

const heartbeat = { mobility: 'alive' };

/** In a worker: sends heartbeats to the primary. */
export function sendHeartbeats(): void {
  setInterval(() => cluster.worker?.isConnected() && cluster.worker.send(heartbeat), interval).unref();
}

/** In the primary: kills stuck workers, one at a time. Returns a function that ends the watch. */
export function watchWorkers(onKill: (text: string) => void): () => void {
  const watch = new WorkerWatch<Worker>(({ process }) => cpuOf(process.pid));
  let killed: Worker | null = null;
  const onMessage = (worker: Worker, message: unknown): void => {
    const isHeartbeat = (message as typeof heartbeat | null)?.mobility === heartbeat.mobility;
    if (isHeartbeat && !worker.isDead()) watch.record(worker, performance.now());
  };
  const onListening = (worker: Worker): void => {
    killed = null;
    watch.record(worker, performance.now());
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
