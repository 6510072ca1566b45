// What the engine on MongoDB decides without a database: addresses, and servers that it refuses.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { BSON } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { databaseNameIn, withoutCredentials } from '../../../src/model/address.ts';
import { openMongoEngine } from '../../../src/store/mongodb/mongodb-engine.ts';

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

  it.each([
    'mongodb://',
    'mongodb://me:secret@host:not-a-port/x',
    'mongodb://me:secret@host/?noSuchOption=1',
    'mongodb://me:secret@host/bad.name',
    'mongodb://me:secret@host/my%20study',
    'mongodb://me:secret@host/%zz',
    'mongodb://me:secret@host/admin',
    'mongodb://me:secret@host/local',
    `mongodb://me:secret@host/${'x'.repeat(64)}`,
  ])('%s that cannot be read is refused without its password', async (address) => {
    const error = await openMongoEngine(address).catch((thrown) => thrown);
    expect(error).toMatchObject({ code: 'MOBILITY_STORE_ADDRESS' });
    expect(error.message).not.toContain('secret');
  });

  it('with unresolvable hosts is unavailable', async () => {
    const error = await openMongoEngine('mongodb+srv://me:secret@nowhere.invalid/x', { retrySeconds: 0.5 }).catch(
      (e) => e,
    );
    expect(error).toMatchObject({ code: 'MOBILITY_STORE_UNAVAILABLE' });
    expect(error.message).not.toContain('secret');
  });

  it('without a server is unavailable after the time limit, and the message has no password', async () => {
    const begin = Date.now();
    const error = await openMongoEngine('mongodb://me:secret@127.0.0.1:1/x', { retrySeconds: 0.5 }).catch((e) => e);
    expect(error).toMatchObject({ code: 'MOBILITY_STORE_UNAVAILABLE' });
    expect(error.message).not.toContain('secret');
    expect(Date.now() - begin).toBeLessThan(28_000); // the driver alone waits for 30 s
  });
});

/** Starts a server that gives every command the same answer, and can do nothing. */
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

  it('without transactions is refused with the commands that add them', () =>
    withAnswering({ isWritablePrimary: true, ismaster: true }, async (address) => {
      const error = await openMongoEngine(address).catch((thrown) => thrown);
      expect(error).toMatchObject({ code: 'MOBILITY_UNSUPPORTED' });
      expect(error.message).toContain('--replSet rs0');
      expect(error.message).toContain(initiation);
    }));

  it('that belongs to no replica set yet is unavailable, and the message names the same command', () =>
    withAnswering({ isreplicaset: true }, async (address) => {
      const error = await openMongoEngine(address, { retrySeconds: 0.5 }).catch((thrown) => thrown);
      expect(error).toMatchObject({ code: 'MOBILITY_STORE_UNAVAILABLE' });
      expect(error.message).toContain(initiation);
    }));

  it('before MongoDB 6.0 is refused', () =>
    withAnswering({ isWritablePrimary: true, setName: 'rs0', maxWireVersion: 13 }, async (address) => {
      const error = await openMongoEngine(`${address}?directConnection=true`).catch((thrown) => thrown);
      expect(error).toMatchObject({ code: 'MOBILITY_UNSUPPORTED', message: expect.stringContaining('6.0') });
    }));
});
