// The messages between the processes of one server: the use by callers, that there are small calls, and the metrics of
// calls, summed by the primary.
import cluster, { type Worker } from 'node:cluster';
import { AggregatorRegistry } from 'prom-client';
import type { UsedByCaller } from './caller-limits.ts';

const patience = 10_000; // ms that the primary has to add up figures

/** What the processes tell each other. */
export type ServerMessage =
  | { mobility: 'used'; used: UsedByCaller }
  | { mobility: 'small-calls' }
  | { mobility: 'figures'; id: number }
  | { mobility: 'figures'; id: number; text: string };

/** True for what the processes tell each other. */
export const isMessage = (message: unknown): message is ServerMessage =>
  typeof message === 'object' &&
  message !== null &&
  ['used', 'small-calls', 'figures'].includes((message as { mobility: string }).mobility);

/** In a worker: tells the primary, unless that has ended. */
export function tellPrimary(message: ServerMessage): void {
  const { worker } = cluster;
  if (worker?.isConnected()) worker.send(message);
}

/**
 * In the primary: hands what one worker says of calls to the others, and adds up figures when a worker asks for them.
 */
export function shareFigures(): void {
  const aggregator = new AggregatorRegistry();
  cluster.on('message', (from: Worker, message: unknown) => {
    if (!isMessage(message)) return;
    if (message.mobility === 'used' || message.mobility === 'small-calls') {
      for (const worker of Object.values(cluster.workers ?? {})) {
        if (worker !== undefined && worker !== from && worker.isConnected()) worker.send(message);
      }
    } else {
      const { id } = message;
      void aggregator
        .clusterMetrics()
        .catch(() => '')
        .then((text) => from.isConnected() && from.send({ mobility: 'figures', id, text } satisfies ServerMessage));
    }
  });
}

let asked = 0;
let coming: Promise<string> | null = null;

/**
 * In a worker: the figures of all of them. Without figures of a worker that does not answer in time the text is empty.
 * Who asks while they are being added up gets the same.
 */
export function figuresOfAll(): Promise<string> {
  coming ??= askForFigures().finally(() => {
    coming = null;
  });
  return coming;
}

function askForFigures(): Promise<string> {
  const { worker } = cluster;
  if (worker === undefined) return Promise.resolve('');
  asked += 1;
  const id = asked;
  return new Promise((resolve) => {
    const done = (text: string): void => {
      clearTimeout(timer);
      worker.off('message', listen);
      resolve(text);
    };
    const timer = setTimeout(() => done(''), patience);
    const listen = (message: unknown): void => {
      if (isMessage(message) && message.mobility === 'figures' && message.id === id && 'text' in message)
        done(message.text);
    };
    worker.on('message', listen);
    worker.send({ mobility: 'figures', id } satisfies ServerMessage);
  });
}
