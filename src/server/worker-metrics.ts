// Metrics of all workers: a worker asks the primary, which asks all workers and adds up.
import cluster, { type Worker } from 'node:cluster';
import { AggregatorRegistry, type MetricObject } from 'prom-client';

// ms until an answer counts as missing
const patience = { figures: 5_000, text: 10_000 };

type Figures = MetricObject[];

/** `ask`: the primary requests `figures` of a worker; a worker requests `text` from the primary. */
interface MetricsMessage {
  mobility: 'metrics';
  ask?: 'figures' | 'text';
  figures?: Figures;
  text?: string;
}

const isMetrics = (message: unknown): message is MetricsMessage =>
  typeof message === 'object' && message !== null && (message as MetricsMessage).mobility === 'metrics';

const send = (to: Worker, message: Omit<MetricsMessage, 'mobility'>): boolean =>
  to.isConnected() && to.send({ mobility: 'metrics', ...message } satisfies MetricsMessage);

/** Resolves with undefined if the other process ends or does not answer in time. */
function ask<Name extends 'figures' | 'text'>(other: Worker, name: Name): Promise<MetricsMessage[Name]> {
  return new Promise((resolve) => {
    const done = (answer?: MetricsMessage[Name]): void => {
      clearTimeout(timer);
      other.off('message', listen).off('exit', giveUp);
      resolve(answer);
    };
    const giveUp = (): void => done();
    const listen = (message: unknown): void => {
      if (isMetrics(message) && message[name] !== undefined) done(message[name]);
    };
    const timer = setTimeout(giveUp, patience[name]);
    other.on('message', listen).on('exit', giveUp);
    send(other, { ask: name });
  });
}

/** Runs in the primary. Adds the metrics of ended workers, so that no counter decreases. */
export function answerMetricsRequests(): void {
  const latest = new Map<number, Figures>();
  const ended: Figures[] = [];
  const add = (figures: Iterable<Figures>) => AggregatorRegistry.aggregate([...figures]);
  const collect = async (): Promise<string> => {
    const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
    await Promise.all(
      workers.map(async (worker) => {
        const figures = await ask(worker, 'figures');
        if (figures !== undefined && !worker.isDead()) latest.set(worker.id, figures);
      }),
    );
    return add([...latest.values(), ...ended]).metrics();
  };
  cluster.on('exit', ({ id }) => {
    const counted = latest.get(id)?.filter(({ type }) => ['counter', 'histogram'].includes(String(type)));
    if (counted !== undefined) ended.splice(0, 1, add([...ended, counted]).getMetricsAsArray());
    latest.delete(id);
  });
  cluster.on('message', (from: Worker, message: unknown) => {
    if (isMetrics(message) && message.ask === 'text') void collect().then((text) => send(from, { text }));
  });
}

/** In a worker: answers the primary. The returned function gets the metrics of all workers. */
export function metricsOfWorkers(figures: () => Promise<object[]>): () => Promise<string> {
  const primary = cluster.worker!;
  primary.on('message', (message: unknown) => {
    if (isMetrics(message) && message.ask === 'figures')
      void figures().then((own) => send(primary, { figures: own as Figures }));
  });
  return async () => (await ask(primary, 'text')) ?? '';
}
