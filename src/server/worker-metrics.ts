// The metrics of calls of all workers of a server: a worker asks the primary, which adds up those of all.
import cluster, { type Worker } from 'node:cluster';
import { AggregatorRegistry } from 'prom-client';

const patience = 10_000; // ms that the primary has to add up figures

/** The question of a worker, and the answer of the primary. */
interface MetricsMessage {
  mobility: 'metrics';
  text?: string;
}

const isMetrics = (message: unknown): message is MetricsMessage =>
  typeof message === 'object' && message !== null && (message as MetricsMessage).mobility === 'metrics';

/** In the primary: answers workers that ask for the metrics. */
export function answerWorkers(): void {
  const aggregator = new AggregatorRegistry();
  cluster.on('message', (from: Worker, message: unknown) => {
    if (!isMetrics(message)) return;
    void aggregator
      .clusterMetrics()
      .catch(() => '')
      .then((text) => from.isConnected() && from.send({ mobility: 'metrics', text } satisfies MetricsMessage));
  });
}

/** In a worker: the metrics of all workers as Prometheus text; empty if they do not come in time. */
export function metricsOfWorkers(): Promise<string> {
  return new Promise((resolve) => {
    const done = (text: string): void => {
      clearTimeout(timer);
      cluster.worker?.off('message', listen);
      resolve(text);
    };
    const timer = setTimeout(done, patience, '');
    const listen = (message: unknown): void => {
      if (isMetrics(message) && message.text !== undefined) done(message.text);
    };
    cluster.worker?.on('message', listen);
    cluster.worker?.send({ mobility: 'metrics' } satisfies MetricsMessage);
  });
}
