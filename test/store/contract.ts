// The contract of the Store interface: the test file of every engine calls testStore, which tests all of store.ts.
import { afterAll, beforeAll, describe, it, onTestFinished } from 'vitest';
import { isFull } from '../support/sample.ts';
import { admissionTests } from './contract/admission.ts';
import { documentTests } from './contract/documents.ts';
import { errorTests } from './contract/errors.ts';
import { feedTests } from './contract/feeds.ts';
import { findTests } from './contract/find.ts';
import { identityTests } from './contract/identity.ts';
import { newPerson, type Opened, type Person, type Use } from './contract/kit.ts';
import { leaseTests } from './contract/leases.ts';
import { lifecycleTests } from './contract/lifecycle.ts';
import { moveTests } from './contract/move.ts';
import { payloadTests } from './contract/payloads.ts';
import { peopleTests } from './contract/people.ts';
import { receiptTests } from './contract/receipts.ts';
import { studyTests } from './contract/studies.ts';
import { timeseriesTests } from './contract/timeseries.ts';
import { tripTests } from './contract/trips.ts';

export type { Opened } from './contract/kit.ts';

const parts: Record<string, (use: Use) => void> = {
  'identity of entries': identityTests,
  payloads: payloadTests,
  'reading by time': findTests,
  'moving entries': moveTests,
  errors: errorTests,
  'first receipts': receiptTests,
  documents: documentTests,
  timeseries: timeseriesTests,
  trips: tripTests,
  people: peopleTests,
  studies: studyTests,
  'transit feeds': feedTests,
  leases: leaseTests,
  admission: admissionTests,
  lifecycle: lifecycleTests,
};

/**
 * Runs the contract on an engine. `open` gives a new, empty store; most tests share one and keep apart by fresh users,
 * as some engines open slowly. Of a slow engine `npm test` runs one test of `every` so many, full mode all.
 */
export function testStore(name: string, open: () => Promise<Opened>, every = 1): void {
  describe(name, () => {
    let opened: Opened;
    let count = 0;
    const use: Use = {
      get store() {
        return opened.store;
      },
      it: (title, test) => {
        count += 1;
        if (!isFull && count % every !== 0) return;
        it(title, async () => {
          const people: Person[] = [];
          while (people.length < test.length) people.push(await newPerson(opened.store));
          await test(...people);
        });
      },
      another: async () => {
        const store = await opened.reopen();
        onTestFinished(() => store.close());
        return store;
      },
      atOnce: async (count, call) => {
        const stores = [opened.store, await use.another()];
        return Promise.all(Array.from({ length: count }, (_, i) => call(stores[i % 2]!, i)));
      },
      open: async () => {
        const other = await open();
        onTestFinished(() => other.dispose());
        return other;
      },
    };
    beforeAll(async () => {
      opened = await open();
    });
    afterAll(async () => {
      await opened?.dispose();
    });
    for (const [part, tests] of Object.entries(parts)) describe(part, () => tests(use));
  });
}
