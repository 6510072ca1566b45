// The server over real sockets: what only shows there, and the sizes that phones can reach.
import { BlockList, connect, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, it } from 'vitest';
import type { AppParts } from '../../../src/server/app-parts.ts';
import { byteLimits } from '../../../src/server/byte-budget.ts';
import type { Serving } from '../../../src/server/listen.ts';
import { androidLocation, answered, config, iosActivity, type Kit, listen, openKit } from '../../server/kit.ts';
import { until } from '../../support/until.ts';

const mebibyte = 1024 * 1024;

let kit: Kit;
let serving: Serving;
let ada: string;

async function open(parts: Partial<AppParts> = {}, drainSeconds = 10): Promise<void> {
  kit = await openKit(parts);
  ada = (await kit.user('ada')).uuid;
  serving = await listen(kit.app, { drainSeconds });
}

beforeEach(() => open());

const url = (path: string) => `http://127.0.0.1:${serving.port}${path}`;
const post = async (path: string, body: string | Uint8Array, headers: Record<string, string> = {}) =>
  answered(
    await fetch(url(path), {
      method: 'POST',
      headers: { 'Content-Type': 'application/json; charset=UTF-8', ...headers },
      body: body as string,
    }),
  );
const putBody = (entries: unknown[]) => JSON.stringify({ user: 'ada', phone_to_server: entries });

/** A connection that sends pieces of a request and collects what comes back. */
async function rawConnection(): Promise<{ socket: Socket; received: () => string; ended: Promise<string> }> {
  const socket = connect(serving.port, '127.0.0.1');
  let text = '';
  socket.setEncoding('latin1').on('data', (piece: string) => {
    text += piece;
  });
  const ended = new Promise<string>((resolve) => {
    socket.on('close', () => resolve(text));
    socket.on('error', () => resolve(text));
  });
  await new Promise((resolve) => socket.once('connect', resolve));
  return { socket, received: () => text, ended };
}

describe('over sockets', () => {
  it('doubled slashes of a path are read and logged as one', async () => {
    const body = putBody([androidLocation(1463502000.25)]);
    for (const path of ['//usercache/put', '/usercache//put', '///usercache/put?a=//']) {
      expect((await post(path, body)).status).toBe(200);
    }
    expect((await post('//nowhere', body)).status).toBe(404);
    expect(kit.log.filter((line) => line.includes('START POST /usercache/put'))).toHaveLength(3);
    expect(await kit.store.usercache.count(ada)).toBe(1);
  });

  it('a body of 60 MB is stored, sent with its length or in chunks', async () => {
    const note = 'x'.repeat(1_000_000);
    const entries = Array.from({ length: 60 }, (_, i) => androidLocation(1463502000 + i, { note }));
    const body = putBody(entries);
    expect(body.length).toBeGreaterThan(60_000_000);
    const answer = await post('/usercache/put', body);
    expect([answer.status, answer.json]).toEqual([200, { inserted: 60, updated: 0, rejected: 0 }]);
    const chunked = await fetch(url('/usercache/put'), {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: new Blob([body]).stream(),
      duplex: 'half',
    } as RequestInit);
    expect(await chunked.json()).toEqual({ inserted: 0, updated: 60, rejected: 0 });
  });

  it('a body over the limit gets a 413, with and without a declared length, and the next call works', async () => {
    await open({ config: { ...config, bodyLimitMiB: 1 } });
    const body = putBody([androidLocation(1, { note: 'x'.repeat(5_000_000) })]);
    expect((await post('/usercache/put', body)).json).toMatchObject({ status: 413, limit_bytes: 1_048_576 });
    const { socket, received } = await rawConnection();
    socket.write(
      'POST /usercache/put HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
    );
    const piece = `10000\r\n${' '.repeat(0x10000)}\r\n`;
    for (let i = 0; i < 17; i += 1) socket.write(piece);
    await until(() => received().includes('"limit_bytes":1048576'));
    expect(received()).toContain('HTTP/1.1 413 ');
    socket.destroy();
    expect((await post('/usercache/put', putBody([iosActivity(1)]))).status).toBe(200);
  });

  it('a gzip bomb gets a 413', async () => {
    const blanks = Buffer.alloc(50_000_000, 0x20);
    const bomb = gzipSync(Buffer.concat([Buffer.from('{"user":"ada"'), blanks]));
    const answer = await post('/usercache/put', bomb, { 'Content-Encoding': 'gzip' });
    expect(answer.json).toMatchObject({ status: 413, limit_bytes: 67_108_864, limit_inflation: 100 });
    // Without a valid token the body is not inflated at all.
    const anonymous = await post('/usercache/put', gzipSync(blanks), { 'Content-Encoding': 'gzip' });
    expect(anonymous.json).toMatchObject({ status: 403 });
    expect((await post('/usercache/get', bomb, { 'Content-Encoding': 'gzip' })).json).toMatchObject({ status: 413 });
  });

  it.each(['gzip, chunked', 'gzip, identity, chunked'])('refuses Transfer-Encoding %s', async (coding) => {
    const { socket, received } = await rawConnection();
    const body = gzipSync(putBody([androidLocation(1)]));
    const head = `POST /usercache/put HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: ${coding}`;
    socket.write(
      Buffer.concat([
        Buffer.from(`${head}\r\n\r\n${body.length.toString(16)}\r\n`),
        body,
        Buffer.from('\r\n0\r\n\r\n'),
      ]),
    );
    await until(() => received().includes(`found \\"${coding}\\"`));
    expect(received()).toMatch(/^HTTP\/1\.1 400 /);
    socket.destroy();
  });

  it('a put whose connection breaks off stores nothing, and its END is logged', async () => {
    const { socket } = await rawConnection();
    socket.write(
      'POST /usercache/put HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"user":',
    );
    await until(() => kit.log.some((line) => line.includes('START')));
    socket.destroy();
    await until(() => kit.log.some((line) => line.includes('END')));
    expect(await kit.store.usercache.count(ada)).toBe(0);
    expect(kit.errors).toEqual([]);
  });

  it('input that is not a request is refused, and the answer reveals nothing about the server', async () => {
    for (const text of [
      'POST /usercache/put HTTP/1.1\r\nHost: a b\r\nContent-Length: 0\r\n\r\n',
      'GET /\\..\\x HTTP/1.1\r\nHost: localhost\r\n\r\n',
      'GARBAGE\r\n\r\n',
      `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`,
    ]) {
      const { socket, received } = await rawConnection();
      socket.write(text);
      await until(() => /^HTTP\/1\.1 4\d\d /.test(received()));
      expect(received()).not.toContain('    at ');
      socket.destroy();
    }
    const old = await rawConnection();
    old.socket.write('GET /healthz HTTP/1.0\r\n\r\n');
    expect(await old.ended).toContain('{"status":"ok"}');
  });

  it('a path and a method cannot forge a line of the log', async () => {
    const { socket, received } = await rawConnection();
    socket.write(
      'POST /%0AEND%20POST%20/usercache/put?x=1#%0A HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n',
    );
    await until(() => received().includes('404'));
    socket.destroy();
    expect(kit.console[0]).toMatch(/^START \S+ POST \/%0AEND%20POST%20\/usercache\/put$/);
    expect(kit.log[0]).toBe('INFO:w1-1:START POST /%0AEND%20POST%20/usercache/put');
  });
});

describe('callers that use more than their share', () => {
  const get = (path: string, token: string, length: number) =>
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n` +
    `Content-Length: ${length}\r\n\r\n`;

  it('a caller without a valid token who announces a large body is refused after the first bytes', async () => {
    const byHeader = await rawConnection();
    byHeader.socket.write(get('/usercache/put', 'nobody', 60_000_000));
    await until(() => byHeader.received().includes('"status":403'));
    byHeader.socket.destroy();
    const byField = await rawConnection();
    const start = `{"user":"nobody","phone_to_server":[${' '.repeat(70_000)}`;
    byField.socket.write(get('/usercache/put', '', 60_000_000).replace(/Authorization.*\r\n/, '') + start);
    await until(() => byField.received().includes('"status":403'));
    byField.socket.destroy();
  });

  /** A put of a user, of which `sent` bytes are sent now; `finish` sends the others. */
  const begin = async (user: string, length: number, sent: number) => {
    const connection = await rawConnection();
    const body = putBody([androidLocation(1, { note: 'x'.repeat(length) })]).replace('"ada"', `"${user}"`);
    connection.socket.write(get('/usercache/put', user, body.length) + body.slice(0, sent));
    await until(() => kit.log.some((line) => line.includes(`Found user email ${user}`)));
    return { ...connection, finish: () => connection.socket.write(body.slice(sent)) };
  };
  const openForWaiting = async (patience: number): Promise<void> => {
    kit = await openKit({ bytes: { large: { total: mebibyte, perCaller: mebibyte / 2, perNetwork: 0 }, patience } });
    serving = await listen(kit.app, { drainSeconds: 10 });
    for (const user of ['ada', 'bob', 'eve', 'joe']) await kit.user(user);
  };
  /** Pushes a large body that fits beside two of 400,000 bytes. */
  const pushAs = (user: string) => {
    const note = 'y'.repeat(200_000);
    const body = putBody([androidLocation(2, { note })]).replace('"ada"', `"${user}"`);
    return post('/usercache/put', body, { Authorization: `Bearer ${user}` });
  };
  const endless = 600_000; // ms, longer than any test

  it('callers whose bodies fill their share of the memory get 429 without waiting, and no other caller is delayed', async () => {
    await openForWaiting(endless);
    const slow = await begin('ada', 400_000, 390_000);
    const own = await pushAs('ada');
    expect([own.status, own.json.limit, own.headers.get('retry-after')]).toEqual([429, 'waiting_bytes', '5']);
    expect((await pushAs('bob')).status).toBe(200);
    slow.finish();
    await until(() => slow.received().includes('"inserted":1'));
    expect((await pushAs('ada')).status).toBe(200);
    slow.socket.destroy();
  });

  it('a body for which no memory becomes free gets a 503, and its connection takes the next call', async () => {
    await openForWaiting(200);
    const slow = [await begin('ada', 400_000, 390_000), await begin('eve', 400_000, 390_000)];
    const waiting = await begin('joe', 400_000, 200_000);
    await until(() => /HTTP\/1\.1 503.*retry-after: 5\r/is.test(waiting.received()));
    expect((await post('/usercache/put', putBody([androidLocation(3)]))).status).toBe(200); // a small one
    waiting.finish();
    waiting.socket.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await until(() => waiting.received().includes('"status":"ok"'));
    for (const { socket } of [...slow, waiting]) socket.destroy();
  });

  it('callers that announce bodies and send nothing, or half, do not prevent puts of others', async () => {
    kit = await openKit();
    serving = await listen(kit.app, { drainSeconds: 10 });
    for (const user of ['ada', 'bob', 'eve', ...Array.from({ length: 18 }, (_, i) => `member${i}`)])
      await kit.user(user);
    const idle = await Promise.all(
      Array.from({ length: 120 }, async (_, i) => {
        const connection = await rawConnection();
        connection.socket.write(get('/usercache/put', i % 2 === 0 ? 'bob' : 'eve', 131_072));
        return connection;
      }),
    );
    await until(() => kit.log.filter((line) => line.includes('Found user email')).length === idle.length);
    expect((await post('/usercache/put', putBody([androidLocation(1)]))).json).toMatchObject({ inserted: 1 });
    const half = await Promise.all(
      Array.from({ length: 18 * 7 }, async (_, i) => {
        const connection = await rawConnection();
        connection.socket.write(get('/usercache/put', `member${i % 18}`, 131_072) + ' '.repeat(131_000));
        return connection;
      }),
    );
    await until(() => kit.log.filter((line) => line.includes('Found user email')).length >= idle.length + half.length);
    for (let i = 2; i < 8; i += 1) {
      const answer = await post('/usercache/put', putBody([androidLocation(i)]), { Authorization: 'Bearer ada' });
      expect(answer.json).toMatchObject({ inserted: 1 });
    }
    for (const { socket } of [...idle, ...half]) socket.destroy();
  });

  it('150 simultaneous large bodies are stored beside stalled and aborted ones, also while the server stops', async () => {
    kit = await openKit({ bytes: { large: { ...byteLimits.large, perCaller: 8 * mebibyte }, patience: 60_000 } });
    serving = await listen(kit.app, { drainSeconds: 60 });
    for (let i = 0; i < 10; i++) await kit.user(`phone${i}`);
    const note = 'x'.repeat(300_000);
    const bodyOf = (i: number) => putBody([androidLocation(1463502000 + i, { note })]);
    const half = async (i: number) => {
      const connection = await rawConnection();
      const body = bodyOf(i);
      connection.socket.write(get('/usercache/put', `phone${i % 10}`, body.length) + body.slice(0, -20_000));
      return connection;
    };
    const bad = await Promise.all(Array.from({ length: 20 }, (_, i) => half(i)));
    await until(() => kit.log.filter((line) => line.includes('START')).length === 20);
    const pushing = Array.from({ length: 150 }, async (_, i) => {
      const headers = { Authorization: `Bearer phone${i % 10}` };
      return (await post('/usercache/put', bodyOf(100 + i).replace('"user":"ada",', ''), headers)).status;
    });
    for (const { socket } of bad.slice(10)) socket.destroy();
    await until(() => kit.log.filter((line) => line.includes('START')).length === 170);
    const closing = serving.close();
    expect(new Set(await Promise.all(pushing))).toEqual(new Set([200]));
    for (const { socket } of bad) socket.destroy();
    await closing;
    const users = await Promise.all(Array.from({ length: 10 }, (_, i) => kit.store.users.byEmail(`phone${i}`)));
    const counts = await Promise.all(users.map((user) => kit.store.usercache.count(user!.uuid)));
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(150);
  });

  it('four unread answers of a caller at a time are held and then closed, and do not block other callers', async () => {
    serving = await listen(kit.app, { drainSeconds: 10, stallSeconds: 3 });
    await kit.user('eve');
    const note = 'x'.repeat(100_000);
    const long = Array.from({ length: 80 }, (_, i) => androidLocation(1463502000 + i, { note }));
    expect((await post('/usercache/put', putBody(long))).status).toBe(200);
    const body = JSON.stringify({ user: 'ada', start_time: 0, end_time: 4e9 });
    const held = await Promise.all(
      Array.from({ length: 8 }, async () => {
        const connection = await rawConnection();
        connection.socket.pause();
        connection.socket.write(get('/datastreams/find_entries/timestamp', 'ada', body.length) + body);
        return connection;
      }),
    );
    const ended = () => kit.log.filter((line) => line.includes('END POST /datastreams')).length;
    await until(() => kit.log.filter((line) => line.includes('START POST /datastreams')).length === 8);
    expect((await post('/usercache/put', putBody([androidLocation(1)]).replace('"ada"', '"eve"'))).status).toBe(200);
    // Nobody reads: the server ends them, and then there is room again.
    await until(() => ended() === 4);
    await until(() => ended() === 8);
    const again = await post('/datastreams/find_entries/timestamp', body);
    expect([again.status, (again.json.phone_data as unknown[]).length]).toEqual([200, 80]);
    for (const { socket } of held) socket.destroy();
  });
});

describe('closing', () => {
  it('an idle connection does not delay others, and a stalled one delays the stop only for the drain time', async () => {
    await open({}, 0.5);
    await fetch(url('/healthz')).then((response) => response.text());
    const idle = await rawConnection();
    const stuck = await rawConnection();
    stuck.socket.write(
      'POST /usercache/put HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{',
    );
    await until(() => kit.log.some((line) => line.includes('START POST')));
    await serving.close();
    await Promise.all([idle.ended, stuck.ended]);
  });
});

describe('connections that ask for too much', () => {
  const get = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n';

  it('calls of one connection are answered one at a time, in order', async () => {
    const { socket, received } = await rawConnection();
    const body = putBody([androidLocation(1)]);
    const post = `POST /usercache/put HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    socket.write(post + get + post + get);
    await until(() => received().split('HTTP/1.1 200').length === 5);
    expect(received().match(/"inserted":1|"updated":1|"ok"/g)).toEqual(['"inserted":1', '"ok"', '"updated":1', '"ok"']);
    const startsAndEnds = kit.console.map((line) => line.split(' ')[0]);
    expect(startsAndEnds).toEqual(Array(4).fill(['START', 'END']).flat());
    socket.destroy();
  });

  it('a connection that pipelines many calls is closed, and others are answered', async () => {
    const flood = await rawConnection();
    flood.socket.pause();
    flood.socket.write(get.repeat(1_000));
    await flood.ended;
    expect(kit.console.filter((line) => line.startsWith('START')).length).toBeLessThan(10);
    expect((await fetch(url('/healthz'))).status).toBe(200);
  });

  it('when few connections are left, the oldest idle ones are closed for new ones', async () => {
    serving = await listen(kit.app, { drainSeconds: 1, maxConnections: 20 });
    const silent = await Promise.all(Array.from({ length: 40 }, () => rawConnection()));
    for (let i = 0; i < 10; i++) {
      const answer = await fetch(url('/healthz'), { headers: { Connection: 'close' } });
      expect(answer.status).toBe(200);
    }
    await silent[0]!.ended;
    for (const { socket } of silent) socket.destroy();
  });

  it('the connections of an address that is not a proxy are limited', async () => {
    await serving.close();
    const limits = { maxConnections: 30, proxies: new BlockList() };
    serving = await listen(kit.app, { drainSeconds: 1, ...limits });
    const open = await Promise.all(Array.from({ length: 3 }, () => rawConnection()));
    expect(await (await rawConnection()).ended).toBe('');
    open[0]!.socket.destroy();
    await until(async () => {
      const { socket, received, ended } = await rawConnection();
      socket.write(get);
      await Promise.race([ended, until(() => received() !== '')]);
      socket.destroy();
      return received().includes('"ok"');
    });
    for (const { socket } of open) socket.destroy();
  });

  it('a connection has less time for its headers when more than half of the connections are taken', async () => {
    serving = await listen(kit.app, { drainSeconds: 1, maxConnections: 10 });
    const began = performance.now();
    const slow = await Promise.all(Array.from({ length: 6 }, () => rawConnection()));
    for (const { socket } of slow) socket.write('GET / HTTP/1.1\r\nHost:');
    expect(await slow[0]!.ended).toContain('HTTP/1.1 408');
    expect(performance.now() - began).toBeLessThan(19_000); // 5 to 10 s; 20 s in a server that is hardly used
    for (const { socket } of slow) socket.destroy();
  });
});

describe('answers that are not read', () => {
  it('are limited in bytes per caller, and no other caller is delayed', async () => {
    await open({ bytes: { answers: { ...byteLimits.answers, perCaller: 3 * mebibyte } } });
    await kit.user('bob');
    const profile = { user: 'ada', update_doc: { note: 'x'.repeat(1_000_000) } };
    expect((await post('/profile/update', JSON.stringify(profile))).status).toBe(200);
    const call = `POST /profile/get HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 14\r\n\r\n{"user":"ada"}`;
    const unread = await Promise.all(Array.from({ length: 8 }, () => rawConnection()));
    for (const { socket } of unread) socket.pause();
    // What the system keeps of a connection is not the server's: the calls after the first ones find it full.
    for (const { socket } of unread) socket.write(call.repeat(8));
    const limit = 'meets the limit unsent_bytes = 3145728';
    await until(() => kit.log.some((line) => line.includes(limit)));
    expect((await post('/profile/get', '{"user":"bob"}')).status).toBe(200);
    for (const { socket } of unread) socket.destroy();
    await until(async () => (await post('/profile/get', '{"user":"ada"}')).status === 200);
  });
});
