// What the MongoDB backend decides without a server: addresses, forms of payloads, statements of bounded size.
import { deepStrictEqual } from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import fc from 'fast-check';
import { BSON } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { databaseIn, withoutCredentials } from '../../src/model/address.ts';
import type { JsonObject, JsonValue } from '../../src/model/json.ts';
import { identityFilters, spanFilters } from '../../src/store/mongodb/identities.ts';
import { indexes, shardedCollections } from '../../src/store/mongodb/indexes.ts';
import { inlineLimit, nestingLimit, partLength, toStored } from '../../src/store/mongodb/payload.ts';
import { newRow } from '../../src/store/mongodb/rows.ts';
import { openMongoStore } from '../../src/store/mongodb/store.ts';
import { collections } from '../../src/store/store.ts';
import { compareTexts } from '../../src/store/text-order.ts';

describe('an address', () => {
  it.each([
    ['mongodb://host/study', 'study'],
    ['mongodb://host', null],
    ['mongodb://host/', null],
    ['mongodb://host/?replicaSet=rs0', null],
    ['mongodb://a:1,b:2/my%2Dstudy?replicaSet=rs0', 'my-study'],
    ['mongodb+srv://user:p%40ss@cluster.example.org/study?w=0', 'study'],
  ])('%s names its database', (address, database) => {
    expect(databaseIn(address)).toBe(database);
  });

  it.each([
    ['mongodb://host/study', 'mongodb://host/study'],
    ['mongodb://me:secret@a:1,b:2/study?replicaSet=rs0', 'mongodb://a:1,b:2/study?replicaSet=rs0'],
    ['mongodb://me:sec/ret?@x@host/study', 'mongodb://host/study'],
    ['mongodb+srv://me@host', 'mongodb+srv://host'],
    ['/srv/my@study', '/srv/my@study'],
    ['mysql://me:sec/ret@host/x?token=secret', 'mysql://host/x'],
    ['mongodb://host/study?tlsCertificateKeyFilePassword=secret&tls=true', 'mongodb://host/study?tls=true'],
    ['mongodb://host/?authMechanismProperties=AWS_SESSION_TOKEN:secret', 'mongodb://host/'],
  ])('%s is shown without credentials', (address, shown) => {
    expect(withoutCredentials(address)).toBe(shown);
  });

  it.each([
    ...['mongodb://', 'mongodb://me:secret@host:not-a-port/x', 'mongodb://me:secret@host/?noSuchOption=1'],
    ...['mongodb://me:secret@host/bad.name', 'mongodb://me:secret@host/my%20study', 'mongodb://me:secret@host/%zz'],
    ...[
      'mongodb://me:secret@host/admin',
      'mongodb://me:secret@host/local',
      `mongodb://me:secret@host/${'x'.repeat(64)}`,
    ],
  ])('%s that cannot be read is refused without its password', async (address) => {
    const error = await openMongoStore(address).catch((thrown) => thrown);
    expect(error).toMatchObject({ code: 'MOBILITY_STORE_ADDRESS' });
    expect(error.message).not.toContain('secret');
  });

  it('with unresolvable hosts is unavailable', async () => {
    const error = await openMongoStore('mongodb+srv://me:secret@nowhere.invalid/x', { retrySeconds: 0.5 }).catch(
      (e) => e,
    );
    expect(error).toMatchObject({ code: 'MOBILITY_STORE_UNAVAILABLE' });
    expect(error.message).not.toContain('secret');
  });

  it('where nobody answers is unavailable after the time limit, without its password', async () => {
    const begin = Date.now();
    const error = await openMongoStore('mongodb://me:secret@127.0.0.1:1/x', { retrySeconds: 0.5 }).catch((e) => e);
    expect(error).toMatchObject({ code: 'MOBILITY_STORE_UNAVAILABLE' });
    expect(error.message).not.toContain('secret');
    expect(Date.now() - begin).toBeLessThan(20_000);
  });
});

/** A server that answers every command with `answer`: it tells what it is, and can do nothing. */
async function withAnswering(answer: Record<string, unknown>, work: (address: string) => Promise<void>): Promise<void> {
  const body = BSON.serialize({ ok: 1, minWireVersion: 0, maxWireVersion: 21, ...answer });
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('data', (message) => {
      // A query of the old protocol (2004), as the first `hello` is, gets a reply (1), a message (2013) another.
      const asked = message.readInt32LE(12);
      const [code, head] = asked === 2004 ? [1, Buffer.alloc(20)] : [2013, Buffer.alloc(5)];
      if (code === 1) head.writeInt32LE(1, 16);
      const header = Buffer.alloc(16);
      header.writeInt32LE(16 + head.length + body.length, 0);
      header.writeInt32LE(message.readInt32LE(4), 8);
      header.writeInt32LE(code, 12);
      socket.write(Buffer.concat([header, head, body]));
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    await work(`mongodb://127.0.0.1:${(server.address() as AddressInfo).port}/study`);
  } finally {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
}

describe('a server', () => {
  const initiation = "mongosh --eval 'rs.initiate()'";

  it('without transactions is refused, and told the command that gives it some', () =>
    withAnswering({ isWritablePrimary: true, ismaster: true }, async (address) => {
      const error = await openMongoStore(address).catch((thrown) => thrown);
      expect(error).toMatchObject({ code: 'MOBILITY_UNSUPPORTED' });
      expect(error.message).toContain('--replSet rs0');
      expect(error.message).toContain(initiation);
    }));

  it('that was started as a member and belongs to no set yet is told the same command', () =>
    withAnswering({ isreplicaset: true }, async (address) => {
      const error = await openMongoStore(address, { retrySeconds: 0.5 }).catch((thrown) => thrown);
      expect(error).toMatchObject({ code: 'MOBILITY_STORE_UNAVAILABLE' });
      expect(error.message).toContain(initiation);
    }));

  it('before MongoDB 6.0 is refused', () =>
    withAnswering({ isWritablePrimary: true, setName: 'rs0', maxWireVersion: 13 }, async (address) => {
      const error = await openMongoStore(`${address}?directConnection=true`).catch((thrown) => thrown);
      expect(error).toMatchObject({ code: 'MOBILITY_UNSUPPORTED', message: expect.stringContaining('6.0') });
    }));
});

describe('a payload', () => {
  const exact: JsonObject = JSON.parse(
    '{"10":1,"2":-0,"b":[null,true,[],{}],"é":"😀","x":1e400,"toJSON":1,"constructor":{"length":2147483648},"c":5e-324}',
  );

  it('is a native document where BSON gives it back as it is', () => {
    const stored = toStored(exact);
    expect(stored.form).toBe('native');
    const back = BSON.deserialize(BSON.serialize({ payload: (stored as { value: JsonValue }).value }));
    deepStrictEqual(back.payload, exact);
    expect(Object.keys(back.payload)).toEqual(Object.keys(exact));
    expect(Object.is(back.payload['2'], -0)).toBe(true);
  });

  it.each([
    ['a name with a dot', '{"a.b":1}'],
    ['a name that begins with a dollar sign', '{"x":[{"$set":1}]}'],
    ['an empty name', '{"x":{"":1}}'],
    ['a name with NUL', '{"a\\u0000b":1}'],
    ['a name with half a character', '{"\\ud800":1}'],
    ['a text with half a character', '{"x":["\\udfff"]}'],
    ['__proto__', '{"__proto__":{"x":1}}'],
    ['a name that the driver reads as a type', '{"x":{"_bsontype":"Long"}}'],
  ])('with %s is text', (_, text) => {
    expect(toStored(JSON.parse(text)).form).toBe('text');
  });

  it('with a dollar sign inside a name or a text is native', () => {
    expect(toStored(JSON.parse('{"a$":"$x","b":"a.b","c":"a\\u0000b"}')).form).toBe('native');
  });

  it('is text from a nesting on that stays below what MongoDB documents', () => {
    const nested = (levels: number): JsonValue => JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`);
    expect(toStored(nested(nestingLimit)).form).toBe('native');
    expect(toStored(nested(nestingLimit + 1)).form).toBe('text');
    expect(toStored(nested(50_000)).form).toBe('text');
    expect(nestingLimit).toBeLessThan(90);
  });

  it('that is too large for a row is parts of text, each small enough for a document, none ending in half a character', () => {
    const text = `${'😀'.repeat((inlineLimit * 2) / 4)}x`;
    const stored = toStored({ text });
    if (stored.form !== 'parts') throw new Error(`expected parts, found ${stored.form}`);
    expect(JSON.parse(stored.parts.join(''))).toEqual({ text });
    for (const part of stored.parts) {
      expect(part.length).toBeLessThanOrEqual(partLength);
      expect(/\p{Surrogate}/u.test(part)).toBe(false);
    }
  });

  it('leaves a row below the limit of BSON documents, whatever its size', () => {
    for (const size of [1e6, inlineLimit - 200, inlineLimit + 200, 3e7]) {
      const payload = { list: Array.from({ length: size / 100 }, (_, i) => ({ i, text: 'x'.repeat(70) })) };
      const made = newRow('usercache', 'u', { key: 'k', write_ts: 1 }, {}, { metadata: payload, data: payload });
      for (const row of [made.row, ...made.parts]) expect(BSON.calculateObjectSize(row)).toBeLessThan(15 * 2 ** 20);
    }
  });

  it('is copied: later changes of the object are not stored', () => {
    const payload = { list: [{ a: 1 }] };
    const stored = toStored(payload);
    payload.list[0]!.a = 2;
    expect(stored).toMatchObject({ form: 'native', value: { list: [{ a: 1 }] } });
  });
});

describe('statements', () => {
  it('that look for many identities are bounded, and together name each of them', () => {
    expect(
      identityFilters([
        { key: 'a', write_ts: 1 },
        { key: 'b', write_ts: 1 },
      ]),
    ).toHaveLength(2);
    const identities = Array.from({ length: 4_000 }, (_, i) => ({
      key: i < 3_000 ? 'a' : `key-${i % 700}`,
      write_ts: i,
    }));
    const filters = identityFilters([...identities, ...identities]);
    const found = new Set<string>();
    for (const { key, write_ts } of filters) {
      const keys: string[] = typeof key === 'string' ? [key] : key.$in;
      expect(keys.length * write_ts.$in.length).toBeLessThanOrEqual(500);
      for (const one of keys) for (const ts of write_ts.$in) found.add(`${one} ${ts}`);
    }
    for (const { key, write_ts } of identities) expect(found.has(`${key} ${write_ts}`)).toBe(true);
  });
});

describe('the statements of a span', () => {
  const anyIdentity = fc.record({
    key: fc.constantFrom('a', 'a/b', 'b', 'é', '\u{10000}', '\uffff'),
    write_ts: fc.integer(),
  });

  it('find what was read one after the other: all of it, with two filters at most', () => {
    const holds = (value: string | number, bounds: unknown): boolean => {
      if (typeof bounds !== 'object') return value === bounds;
      const { $gte, $lt } = bounds as { $gte?: string | number; $lt?: string | number };
      const order = (other: string | number): number =>
        typeof value === 'string' ? compareTexts(value, String(other)) : value - Number(other);
      return ($gte === undefined || order($gte) >= 0) && ($lt === undefined || order($lt) < 0);
    };
    fc.assert(
      fc.property(fc.array(anyIdentity, { minLength: 1, maxLength: 8 }), (identities) => {
        const filters = spanFilters(identities);
        expect(filters.length).toBeLessThanOrEqual(2);
        for (const { key, write_ts } of identities) {
          const finding = filters.filter(
            (one) => holds(key, one.key) && (!one.write_ts || holds(write_ts, one.write_ts)),
          );
          expect(finding).toHaveLength(1);
        }
      }),
    );
  });
});

describe('the layout', () => {
  it('has an index for every collection; all begin with the user, except those of the registry', () => {
    for (const name of collections) expect(indexes[name]?.length).toBeGreaterThan(0);
    for (const [name, list] of Object.entries(indexes)) {
      if (name === 'users' || name === 'use') continue;
      for (const { key } of list) expect(Object.keys(key)[0]).toBe('user_id');
    }
  });

  it('shards all but registry and tokens, so that unique indexes have the shard key in front', () => {
    expect([...shardedCollections].sort()).toEqual(
      [...collections.filter((name) => name !== 'users' && name !== 'tokens'), 'chunks', 'members', 'parts'].sort(),
    );
  });
});
