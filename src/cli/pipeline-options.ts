import { hostname } from 'node:os';
import type { PipelineOptions } from '../pipeline/run-pipeline.ts';
import type { Store } from '../store/store.ts';
import type { CommandContext } from './context.ts';

/**
 * Log, clock, lease time and owner of this run. `owner`: the name that other runs show while they wait for its lease.
 */
export async function pipelineOptions(context: CommandContext): Promise<PipelineOptions & { owner: string }> {
  const { leaseSeconds } = context.config();
  const owner = `pipeline ${process.pid} on ${hostname()}`;
  await context.store();
  const log = await context.log('pipeline');
  log.writeAll('WARNING', context.storeWarnings);
  return { log, now: context.now, owner, leaseSeconds };
}

/**
 * On Ctrl-C, releases the lease of the user in progress, so that the next run need not wait. The next write of this run
 * then fails. Returns the function that sets the user in progress.
 */
export function releaseWhenStopped(context: CommandContext, store: Store, owner: string): (userId: string) => void {
  let current: string | null = null;
  const releaseLease = async (): Promise<void> => {
    const lease = current === null ? null : await store.leases.get(current);
    if (lease?.owner === owner) await store.leases.release(lease);
  };
  context.interruptible().addEventListener('abort', () => void releaseLease().catch(() => {}), { once: true });
  return (userId) => {
    current = userId;
  };
}
