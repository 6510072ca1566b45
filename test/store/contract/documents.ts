// Contract: documents, which phones pull.
import { expect } from 'vitest';
import type { JsonValue } from '../../../src/model/json.ts';
import { putDocument, removeDocument } from '../../support/store.ts';
import { numbers, rejects, same, type Use } from './kit.ts';

const keyOf = (day: number): string => `diary/trips-2016-05-${day}`;
const day = (n: number, write_ts: number, data: JsonValue = {}) => ({ key: keyOf(n), write_ts, data });

export function documentTests(use: Use): void {
  use.it('documents are listed by write_ts, then key; keys are sorted', async (user) => {
    const documents = [day(18, 2), day(17, 2), day(19, 1), { key: 'a.b/$c', write_ts: 3, data: 1 }];
    for (const document of documents) await putDocument(use.store, user.id, document);
    same(await use.store.documents.list(user.id), [documents[2]!, documents[1]!, documents[0]!, documents[3]!]);
    expect(await use.store.documents.keys(user.id)).toEqual(documents.map((one) => one.key).sort());
  });

  use.it('a document is removed by its key, within its user', async (a, b) => {
    await putDocument(use.store, a.id, day(17, 1, { of: 'a' }));
    await putDocument(use.store, b.id, day(17, 1, { of: 'b' }));
    const remove = (n: number) => removeDocument(use.store, a.id, keyOf(n));
    expect([await remove(18), await remove(17), await remove(17)]).toEqual([false, true, false]);
    expect(await use.store.documents.keys(a.id)).toEqual([]);
    same(await use.store.documents.list(b.id), [day(17, 1, { of: 'b' })]);
  });

  use.it('a document with the same data stays as it was written', async (user) => {
    await putDocument(use.store, user.id, day(17, 1, { trips: [-0] }));
    expect(await putDocument(use.store, user.id, day(17, 2, { trips: [-0] }))).toBe('unchanged');
    same(await use.store.documents.list(user.id), [day(17, 1, { trips: [-0] })]);
    expect(await putDocument(use.store, user.id, day(17, 3, { trips: [0] }))).toBe('updated');
  });

  use.it('of two with one key in a change, the last one counts', async (user) => {
    const put = [day(17, 2, 'first'), day(18, 3), day(17, 1, 'last')];
    const { results } = await use.store.documents.apply(user.id, { put, remove: [] }, await user.lease());
    expect(results).toEqual(['inserted', 'inserted', 'updated']);
    same(await use.store.documents.list(user.id), [put[2]!, put[1]!]);
  });

  use.it('simultaneous puts of one document insert it once', async (user) => {
    const lease = await user.lease();
    const put = (i: number) => putDocument(use.store, user.id, day(17, i, i), lease);
    const results = await Promise.all(numbers(0, 10).map(put));
    expect(results.filter((result) => result === 'inserted')).toHaveLength(1);
    expect(await use.store.documents.list(user.id)).toHaveLength(1);
  });

  use.it('documents, state and the end of the lease are written in one step', async (user) => {
    const { documents, leases } = use.store;
    await putDocument(use.store, user.id, day(16, 1));
    await user.mergeState({ documents_due: true, complete_until: 5 });
    const lease = await user.lease();
    const first = { put: [day(16, 2, 'new'), day(17, 2), day(18, 2)], remove: [keyOf(15)] };
    const results = ['updated', 'inserted', 'inserted'];
    expect(await documents.apply(user.id, first, lease)).toEqual({ results, removed: 0 });
    expect(await leases.get(user.id)).toEqual(lease);
    const change = { put: [], remove: [keyOf(16), keyOf(18)] };
    const end = { state: { documents_due: false, last_run_ts: 9 }, release: true };
    expect(await documents.apply(user.id, change, lease, end)).toEqual({ results: [], removed: 2 });
    expect(await documents.keys(user.id)).toEqual([keyOf(17)]);
    expect(await user.state()).toMatchObject({ documents_due: false, complete_until: 5, last_run_ts: 9 });
    expect(await leases.get(user.id)).toBeNull();
    await rejects(documents.apply(user.id, change, lease, end), 'MOBILITY_LEASE_LOST');
  });
}
