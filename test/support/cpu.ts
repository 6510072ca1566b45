// Processor time, for tests of speed: it does not depend on what else the machine does.

/** Seconds of processor time that `work` takes. */
export function cpuSeconds(work: () => void): number {
  const began = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1e6;
}
