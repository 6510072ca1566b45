// Tells other processes what callers used here: all servers through the store, or the workers of one server.
import cluster from 'node:cluster';
import type { CallerUse } from '../store/store.ts';
import type { CallerCounts } from './caller-limits.ts';
import { isMessage, tellPrimary } from './share-figures.ts';

const tellWorkersEvery = 1_000; // ms
const tellStoreEvery = 2_000; // ms

/** What sharing needs of a store. */
export interface SharingOptions {
  /** The store's counters; null: the store belongs to this server alone. */
  use: CallerUse | null;
  /** Seconds since the epoch. */
  now: () => number;
  /** ms between two reports to the store. */
  every?: number;
}

/** Shares what callers used with whoever else answers them. Returns the function that stops it. */
export function shareUse(counts: CallerCounts, options: SharingOptions): () => void {
  if (options.use !== null) return throughStore(counts, options.use, options);
  return cluster.isWorker ? amongWorkers(counts) : () => {};
}

/**
 * One report for all callers of the last seconds. While the store cannot be reached, each process counts for itself; it
 * tells the rest when the store is back.
 */
function throughStore(counts: CallerCounts, use: CallerUse, { now, every = tellStoreEvery }: SharingOptions) {
  let isUnderWay = false;
  const tell = async (): Promise<void> => {
    if (isUnderWay) return;
    const news = counts.takeNews();
    if (news === null) return;
    isUnderWay = true;
    try {
      counts.setTotals(await use.add(new Map(Object.entries(news)), now()));
    } catch {
      counts.giveBack(news);
    } finally {
      isUnderWay = false;
    }
  };
  const timer = setInterval(() => void tell(), every);
  timer.unref();
  return () => clearInterval(timer);
}

function amongWorkers(counts: CallerCounts): () => void {
  const { worker } = cluster;
  const listen = (message: unknown): void => {
    if (isMessage(message) && message.mobility === 'used') counts.addNews(message.used);
  };
  worker?.on('message', listen);
  const timer = setInterval(() => {
    const used = counts.takeNews();
    if (used !== null) tellPrimary({ mobility: 'used', used });
  }, tellWorkersEvery);
  timer.unref();
  return () => {
    clearInterval(timer);
    worker?.off('message', listen);
  };
}
