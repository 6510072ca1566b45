// What the engine on MongoDB decides without a database: addresses, and servers that it refuses.
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { BSON } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { databaseNameIn, withoutCredentials } from '../../../src/model/address.ts';
import type { ErrorCode } from '../../../src/model/mobility-error.ts';
import type { MongoOptions } from '../../../src/store/mongodb/connect.ts';
import { openMongoEngine } from '../../../src/store/mongodb/mongodb-engine.ts';
import { atEnd } from '../../support/clean-up.ts';
import { words } from '../../support/words.ts';

/** Fails unless the address is refused with the code and without its password; returns the message. */
async function refused(address: string, code: ErrorCode, options: MongoOptions = {}): Promise<string> {
  const error = await openMongoEngine(address, options).catch((thrown) => thrown);
  expect(error).toMatchObject({ code });
  expect(error.message).not.toContain('secret');
  return error.message;
}

describe('an address', () => {
  it.each([
    ['mongodb://host/study', 'study'],
    ['mongodb://host', null],
    ['mongodb://host/', null],
    ['mongodb://host/?replicaSet=rs0', null],
    ['mongodb://a:1,b:2/my%2Dstudy?replicaSet=rs0', 'my-study'],
    ['mongodb+srv://user:p%40ss@cluster.example.org/study?w=0', 'study'],
  ])('%s names its database', (address, database) => {
    expect(databaseNameIn(address)).toBe(database);
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

  const unreadable = words(
    'host:not-a-port/x host/?noSuchOption=1 host/bad.name host/my%20study host/%zz host/admin host/local',
  );
  const tooLong = `host/${'x'.repeat(64)}`;
  it.each(['', ...[...unreadable, tooLong].map((place) => `me:secret@${place}`)])(
    'mongodb://%s that cannot be read is refused without its password',
    async (place) => {
      await refused(`mongodb://${place}`, 'MOBILITY_STORE_ADDRESS');
    },
  );

  it.each([
    ['with unresolvable hosts', 'mongodb+srv://me:secret@nowhere.invalid/x'],
    ['without a server', 'mongodb://me:secret@127.0.0.1:1/x'],
  ])('%s is unavailable after the time limit, and the message has no password', async (_, address) => {
    const begin = Date.now();
    await refused(address, 'MOBILITY_STORE_UNAVAILABLE', { retrySeconds: 0.5 });
    expect(Date.now() - begin).toBeLessThan(28_000); // the driver alone waits for 30 s
  });
});

/** The address of a server that gives every command the same answer until the test ends, and can do nothing. */
async function answering(answer: Record<string, unknown>): Promise<string> {
  const body = BSON.serialize({ ok: 1, minWireVersion: 0, maxWireVersion: 21, ...answer });
  const server = createServer((socket) => {
    atEnd(() => socket.destroy());
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
  atEnd(() => void server.close());
  await once(server, 'listening');
  return `mongodb://127.0.0.1:${(server.address() as AddressInfo).port}/study`;
}

const initiate = "mongosh --eval 'rs\\.initiate\\(\\)'";
it.each([
  ['of its own', { isWritablePrimary: true, ismaster: true }, 'UNSUPPORTED', `--replSet rs0[^]*${initiate}`],
  ['of no replica set yet', { isreplicaset: true }, 'STORE_UNAVAILABLE', initiate],
  ['before 6.0', { ismaster: true, setName: 'a', maxWireVersion: 13 }, 'UNSUPPORTED', '6\\.0'],
] as const)('a server %s is refused, and the message names the remedy', async (_, answer, code, message) => {
  const direct = 'setName' in answer ? '?directConnection=true' : '';
  const address = `${await answering(answer)}${direct}`;
  expect(await refused(address, `MOBILITY_${code}`, { retrySeconds: 0.5 })).toMatch(new RegExp(message));
});
