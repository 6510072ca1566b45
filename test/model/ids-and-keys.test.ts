// Ids, identities and the table of keys.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { dataTime, identityOf, identityText } from '../../src/model/entry.ts';
import { idOf, isUuid, newUuid } from '../../src/model/ids.ts';
import { affectsOf, configKeys, dayKey, keys, keyTable } from '../../src/model/keys.ts';
import { motionTypes, states, transitions } from '../../src/model/payloads.ts';

it('ids depend on their parts only', () => {
  expect(idOf('user', 'trip', 1463502000.25)).toMatch(/^[0-9a-f]{24}$/);
  expect(idOf('a', 'b')).toBe('0473ef2dc0d324ab659d3580');
});

it('ids differ where the parts differ, however these join', () => {
  const number = fc.double({ noNaN: true, noDefaultInfinity: true }).map((x) => x + 0);
  const parts = fc.array(fc.oneof(fc.string(), number), { minLength: 1 });
  fc.assert(
    fc.property(parts, parts, (a, b) => {
      expect(idOf(...a) === idOf(...b)).toBe(JSON.stringify(a) === JSON.stringify(b));
    }),
  );
  expect(idOf('ab', 'c')).not.toBe(idOf('a', 'bc'));
  expect(idOf(1)).not.toBe(idOf('1'));
});

it('ids of users are UUIDs in their lower case, dashed form', () => {
  expect(isUuid(newUuid())).toBe(true);
  expect(newUuid()).not.toBe(newUuid());
  const uuid = '0c7b8a5e-5c8e-4f0e-9d5c-7d1f4f1d9a10';
  expect(isUuid(uuid)).toBe(true);
  for (const text of ['', 'x', uuid.toUpperCase(), uuid.replaceAll('-', ''), `${uuid}\n`, ` ${uuid}`, `${uuid}0`])
    expect(isUuid(text)).toBe(false);
});

it('the identity of an entry is its key and write_ts, not its type', () => {
  const identity = identityOf({ metadata: { key: 'k', write_ts: 1.5, type: 'message' }, data: { write_ts: 2 } });
  expect(identity).toEqual({ key: 'k', write_ts: 1.5 });
});

it('the identity of an entry as a text differs where the identity does', () => {
  const write_ts = fc.double({ noNaN: true }).map((x) => x + 0);
  const identity = fc.record({ key: fc.stringMatching(/^\S{1,20}$/), write_ts });
  fc.assert(
    fc.property(identity, identity, (a, b) => {
      expect(identityText(a) === identityText(b)).toBe(a.key === b.key && a.write_ts === b.write_ts);
    }),
  );
});

it.each([
  [{ ts: 5, start_ts: 6 }, 5],
  [{ start_ts: 6, end_ts: 7 }, 6],
  [{ ts: '5', start_ts: 6 }, 6],
  [{ ts: null }, null],
  [{ ts: Number.POSITIVE_INFINITY }, null],
  [{ ts: 0 }, 0],
  [{}, null],
])('the time of the payload %j is %j', (data, expected) => {
  expect(dataTime(data)).toBe(expected);
});

it('the table of keys is sorted, names each key once, and has the keys of the specification', () => {
  const names = keyTable.map((row) => row.key);
  expect(names).toEqual([...new Set(names)].sort());
  const specified = [...Object.values(keys), 'stats/client_nav_event', 'manual/survey', 'diary/trips-<YYYY-MM-DD>'];
  for (const key of specified) expect(names).toContain(key);
});

it('the table of keys knows the derived data that a change affects', () => {
  expect(affectsOf('background/filtered_location')).toBe('trips');
  expect(affectsOf('manual/incident')).toBe('documents');
  expect(affectsOf('config/consent')).toBe('nothing');
  for (const key of ['unknown', '__proto__', 'constructor']) expect(affectsOf(key)).toBe('nothing');
});

it('the table of keys has documents that no phone pushes', () => {
  const documents = keyTable.filter((row) => row.kind === 'document').map((row) => row.key);
  expect(documents).toEqual(['common-trips', 'diary/trips-<YYYY-MM-DD>']);
  expect(dayKey('2016-05-17')).toBe('diary/trips-2016-05-17');
  expect(configKeys).toEqual(['config/sensor_config', 'config/sync_config', 'config/consent']);
});

it('codes are those that stored entries have always had', () => {
  expect(Object.values(motionTypes)).toEqual([0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11]);
  expect(Object.values(states)).toEqual([0, 1, 2, 3]);
  expect(Object.values(transitions)).toEqual(Array.from({ length: 21 }, (_, code) => code));
  expect([motionTypes.WALKING, transitions.STOPPED_MOVING, transitions.START_TRACKING]).toEqual([7, 2, 17]);
});
