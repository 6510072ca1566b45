// Contract: a payload comes back as it went in, wherever it is kept.
import { expect, it } from 'vitest';
import type { Entry } from '../../../src/model/entry.ts';
import type { JsonObject } from '../../../src/model/json.ts';
import { jsonText } from '../../../src/model/json-text.ts';
import { errorPages } from '../../../src/store/paging.ts';
import { putDocument } from '../../support/store.ts';
import { entry, type Finder, findAll, fix, newPerson, refuse, same, storedAt, type Use } from './kit.ts';

/** As text, so that each value is what a phone's JSON gives, own fields named `__proto__` included. */
const payloads: Record<string, string> = {
  'an empty object': '{}',
  'names with dots and dollar signs':
    '{"a.b":1,"$set":{"$inc":{"x.y.":[{"$":1}]}},".":0,"$":{"..":null},"$date":"x","_id":7}',
  'nulls, empty names and empty lists': '{"":null,"a":[null,[],{},[[]]],"b":{"":{"":""}}}',
  'any Unicode': '{"é":"e\u0301","😀":"漢字 \u202eabc","\u2028":"\ufeff\uffff\ufffd"}',
  'NUL in texts and names': '{"a\\u0000b":"x\\u0000y","\\u0000":"\\u0000","a":{"\\u0000z":[{"\\u0000":1}]}}',
  'lone surrogates in texts and names':
    '{"\\ud800":"\\udfff","x":["\\ud83d","\\ude00\\ud83d"],"\\udc00a":{"\\ud800":1}}',
  'names that objects have already':
    '{"__proto__":{"polluted":true},"constructor":{"prototype":{}},"hasOwnProperty":1,"toJSON":"x","toString":null,"length":3}',
  'negative zero and extreme numbers':
    '{"a":-0,"b":[-0,0],"c":5e-324,"d":1.7976931348623157e308,"e":9007199254740991,"f":9007199254740993,"g":0.1,"h":-1e-7,"i":{"j":-0.0}}',
  'whole numbers beside decimals':
    '{"a":1,"b":1.0,"c":2147483647,"d":2147483648,"e":-2147483649,"f":4294967296,"g":1e15,"h":1e21}',
  'names like numbers': '{"1":"a","0":"b","10":"c","-1":"d","1.5":"e"}',
  'texts like other types':
    '{"a":"true","b":"1","c":"null","d":"2016-05-17T09:19:59Z","e":"\\\\u0000","f":"\\\\","g":"{}"}',
  'a list in the middle of lists': `{"a":${'['.repeat(60)}1${']'.repeat(60)}}`,
};

const deep = (levels: number): JsonObject => JSON.parse(`{"a":${'[{"b":'.repeat(levels)}-0${'}]'.repeat(levels)}}`);

/** A payload with many parts and some text, about `size` characters. */
function large(size: number): JsonObject {
  const part = 'é"\\ 0123456789'.repeat(7);
  return { text: 'x'.repeat(size / 2), list: Array.from({ length: size / 2 / 100 }, (_, i) => ({ i, part })) };
}

/** Passes one entry through each collection of entries, and returns what each has. */
async function everywhere(use: Use, sent: Entry): Promise<Record<string, Entry | undefined>> {
  const { store } = use;
  const user = await newPerson(use.store);
  const { key, write_ts } = sent.metadata;
  await user.put([sent]);
  const [waits] = await user.waiting();
  await user.moveAll(refuse());
  const [error] = await store.errors.list(user.id, { limit: 10 });
  await store.errors.recover(user.id, [{ ...error!, entry: sent }]);
  const [takenBack] = await user.waiting();
  await user.moveAll();
  const got = (await storedAt(store, user.id, { key, write_ts })) ?? undefined;
  const [found] = await user.stored();
  return { waits, error: error?.entry as unknown as Entry, takenBack, got, found };
}

export function payloadTests(use: Use): void {
  it.each(Object.entries(payloads))('%s come back as the same content from everywhere', async (_, text) => {
    const data = JSON.parse(text) as JsonObject;
    const inData = entry('manual/survey', 1, data);
    const inMetadata = entry('manual/survey', 1, {}, { more: data, ...data });
    for (const sent of [inData, inMetadata])
      for (const back of Object.values(await everywhere(use, sent))) same(back, sent);

    const { store } = use;
    const user = await newPerson(store);
    const document = { key: 'diary/trips-2016-05-17', write_ts: 5.5, data };
    await putDocument(store, user.id, document);
    same(await store.documents.list(user.id), [document]);
    same(await store.profiles.merge(user.id, data), data);
    same(await store.profiles.get(user.id), data);
    await user.putUnusable([{ entry: data, reason: 'r', message: 'm' }], 1);
    same((await user.errors())[0]!.entry, data);
    await user.moveIn([inData]);
    expect(await user.moveIn([inData])).toMatchObject({ unchanged: 1, updated: 0 });
  });

  use.it('a document may hold any JSON value', async (user) => {
    for (const data of [null, 0, -0, '', 'a\u0000\ud800', false, [], [null], [[-0]]]) {
      await putDocument(use.store, user.id, { key: 'config/sensor_config', write_ts: 1, data });
      same((await use.store.documents.list(user.id))[0]!.data, data);
    }
  });

  it.each([150, 20_000])('a payload nested %d deep is unchanged', async (levels) => {
    const sent = entry('manual/survey', 1, deep(levels));
    const expected = jsonText(sent as unknown as JsonObject);
    for (const back of Object.values(await everywhere(use, sent))) {
      expect(jsonText(back as unknown as JsonObject) === expected).toBe(true);
    }
  });

  it.each([3_000_000, 20_000_000])('a payload of %d characters is unchanged', async (size) => {
    const sent = entry('manual/survey', 1, large(size));
    for (const back of Object.values(await everywhere(use, sent))) same(back, sent);
  });

  use.it('many large entries are stored completely, and read in parts that may be short', async (user) => {
    const sent = Array.from({ length: 40 }, (_, i) => fix(i, { text: 'y'.repeat(1_000_000) }));
    await user.put(sent);
    const expectPages = async (place: Finder): Promise<void> => {
      // However many are asked for, a page holds no more of them than fits into memory beside others.
      const { entries } = await place.find(user.id, { time: 'ts', limit: 1_000 });
      expect(entries.length).toBeGreaterThan(0);
      expect(JSON.stringify(entries).length).toBeLessThanOrEqual(largestPage);
      same(await findAll(place, user.id, { time: 'ts', limit: 1_000 }), sent);
    };
    await expectPages(use.store.usercache);
    await user.moveAll(undefined, { limit: 10 });
    await expectPages(use.store.timeseries);
    await user.put(sent);
    await user.moveAll(refuse(), { limit: 10 });
    const errors = [];
    for await (const page of errorPages(use.store, user.id)) {
      expect(JSON.stringify(page).length).toBeLessThanOrEqual(largestPage);
      errors.push(...page);
    }
    expect(errors.length).toBe(sent.length);
  });
}

const largestPage = 32 * 2 ** 20 + 1_100_000; // characters: a store may count an entry after it has read it
