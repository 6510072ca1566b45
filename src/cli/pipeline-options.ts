// What every command that runs stages gives to the pipeline.
import { hostname } from 'node:os';
import type { PipelineOptions } from '../pipeline/run-pipeline.ts';
import type { CommandContext } from './context.ts';

/** Log, clock, lease and owner of this run, as the settings say. The owner tells others whom they wait for. */
export async function pipelineOptions(context: CommandContext): Promise<PipelineOptions & { owner: string }> {
  const { leaseSeconds } = context.config();
  const owner = `pipeline ${process.pid} on ${hostname()}`;
  return { log: await context.log('pipeline'), now: context.now, owner, leaseSeconds };
}
