// The server over real sockets: what only shows there, and the sizes that phones can reach.
import { BlockList, connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, it } from 'vitest';
import type { AppParts } from '../../../src/server/app-parts.ts';
import { byteLimits } from '../../../src/server/byte-budget.ts';
import type { ServeOptions, Serving } from '../../../src/server/listen.ts';
import { androidLocation, answered, config, iosActivity, type Kit, listen, openKit } from '../../server/kit.ts';
import { numbers } from '../../store/contract/kit.ts';
import { atEnd } from '../../support/clean-up.ts';
import { until } from '../../support/until.ts';

const mebibyte = 1024 * 1024;

let kit: Kit;
let serving: Serving;
let ada: string;

/** Opens a server with ada and these people. */
async function open(parts: Partial<AppParts> = {}, options: Partial<ServeOptions> = {}, people: string[] = []) {
  kit = await openKit(parts);
  ada = (await kit.user('ada')).uuid;
  for (const name of people) await kit.user(name);
  serving = await listen(kit.app, { drainSeconds: 10, ...options });
}

beforeEach(() => open());

const url = (path: string) => `http://127.0.0.1:${serving.port}${path}`;
const json = { 'Content-Type': 'application/json; charset=UTF-8' };
const post = async (path: string, body: string | Uint8Array, headers: Record<string, string> = {}) =>
  answered(await fetch(url(path), { method: 'POST', headers: { ...json, ...headers }, body: body as string }));
const putBody = (entries: unknown[], user = 'ada') => JSON.stringify({ user, phone_to_server: entries });
/** A put of locations, each with a note of so many bytes. */
const notes = (bytes: number, { count = 1, ts = 1463502000, user = 'ada' } = {}) =>
  putBody(
    numbers(ts, ts + count).map((one) => androidLocation(one, { note: 'x'.repeat(bytes) })),
    user,
  );

/** The head of a call, with these lines beside its Host. */
const head = (call: string, ...lines: string[]): string =>
  `${[`${call} HTTP/1.1`, 'Host: localhost', ...lines].join('\r\n')}\r\n\r\n`;
const ofJson = 'Content-Type: application/json';
/** The head of a call of a user with a body of this length. */
const headOf = (path: string, user: string, length: number): string =>
  head(`POST ${path}`, `Authorization: Bearer ${user}`, ofJson, `Content-Length: ${length}`);
const health = head('GET /healthz');

async function connection(sent: string | Buffer = '') {
  const socket = connect(serving.port, '127.0.0.1');
  atEnd(() => socket.destroy());
  let text = '';
  socket.setEncoding('latin1').on('data', (piece: string) => {
    text += piece;
  });
  socket.on('error', () => {});
  const ended = new Promise<string>((resolve) => socket.on('close', () => resolve(text)));
  await new Promise((resolve) => socket.once('connect', resolve));
  socket.write(sent);
  return { socket, received: () => text, ended };
}

const connections = (count: number, sent: (i: number) => string = () => '') =>
  Promise.all(Array.from({ length: count }, (_, i) => connection(sent(i))));

const logged = (text: string): number => kit.log.filter((line) => line.includes(text)).length;

describe('over sockets', () => {
  it('doubled slashes of a path are read and logged as one', async () => {
    const body = putBody([androidLocation(1463502000.25)]);
    for (const path of ['//usercache/put', '/usercache//put', '///usercache/put?a=//']) {
      expect((await post(path, body)).status).toBe(200);
    }
    expect((await post('//nowhere', body)).status).toBe(404);
    expect(logged('START POST /usercache/put')).toBe(3);
    expect(await kit.store.usercache.count(ada)).toBe(1);
  });

  it('a body of 60 MB is stored, sent with its length or in chunks', async () => {
    const body = notes(1_000_000, { count: 60 });
    const answer = await post('/usercache/put', body);
    expect([answer.status, answer.json]).toEqual([200, { inserted: 60, updated: 0, rejected: 0 }]);
    const init = { method: 'POST', headers: json, body: new Blob([body]).stream(), duplex: 'half' };
    const chunked = await fetch(url('/usercache/put'), init as RequestInit);
    expect(await chunked.json()).toEqual({ inserted: 0, updated: 60, rejected: 0 });
  });

  it('a body over the limit gets a 413, with and without a declared length, and the next call works', async () => {
    await open({ config: { ...config, bodyLimitMiB: 1 } });
    const limit = { status: 413, limit_bytes: 1_048_576 };
    expect((await post('/usercache/put', notes(5_000_000))).json).toMatchObject(limit);
    const piece = `10000\r\n${' '.repeat(0x10000)}\r\n`;
    const chunks = head('POST /usercache/put', ofJson, 'Transfer-Encoding: chunked') + piece.repeat(17);
    const { received } = await connection(chunks);
    await until(() => received().includes('"limit_bytes":1048576'));
    expect(received()).toContain('HTTP/1.1 413 ');
    expect((await post('/usercache/put', putBody([iosActivity(1)]))).status).toBe(200);
  });

  it('a gzip bomb gets a 413, and is not decompressed without a valid token', async () => {
    const blanks = Buffer.alloc(50_000_000, 0x20);
    const bomb = gzipSync(Buffer.concat([Buffer.from('{"user":"ada"'), blanks]));
    const send = async (path: string, body: Buffer) => (await post(path, body, { 'Content-Encoding': 'gzip' })).json;
    const limits = { limit_bytes: 67_108_864, limit_inflation: 100 };
    expect(await send('/usercache/put', bomb)).toMatchObject({ status: 413, ...limits });
    expect(await send('/usercache/put', gzipSync(blanks))).toMatchObject({ status: 403 });
    expect(await send('/usercache/get', bomb)).toMatchObject({ status: 413 });
  });
  it.each(['gzip, chunked', 'gzip, identity, chunked'])('refuses Transfer-Encoding %s', async (coding) => {
    const body = gzipSync(putBody([androidLocation(1)]));
    const before = head('POST /usercache/put', ofJson, `Transfer-Encoding: ${coding}`) + body.length.toString(16);
    const sent = [Buffer.from(`${before}\r\n`), body, Buffer.from('\r\n0\r\n\r\n')];
    const { received } = await connection(Buffer.concat(sent));
    await until(() => received().includes(`found \\"${coding}\\"`));
    expect(received()).toMatch(/^HTTP\/1\.1 400 /);
  });

  it('a put whose connection breaks off stores nothing, and its END is logged', async () => {
    const { socket } = await connection(`${head('POST /usercache/put', ofJson, 'Content-Length: 1000')}{"user":`);
    await until(() => logged('START') > 0);
    socket.destroy();
    await until(() => logged('END') > 0);
    expect(await kit.store.usercache.count(ada)).toBe(0);
    expect(kit.errors).toEqual([]);
  });

  it('input that is not a request is refused, and the answer reveals nothing about the server', async () => {
    const badHost = 'POST /usercache/put HTTP/1.1\r\nHost: a b\r\nContent-Length: 0\r\n\r\n';
    const longHead = head('GET /', `X: ${'x'.repeat(20_000)}`);
    for (const text of [badHost, head('GET /\\..\\x'), 'GARBAGE\r\n\r\n', longHead]) {
      const { received } = await connection(text);
      await until(() => /^HTTP\/1\.1 4\d\d /.test(received()));
      expect(received()).not.toContain('    at ');
    }
    const old = await connection('GET /healthz HTTP/1.0\r\n\r\n');
    expect(await old.ended).toContain('{"status":"ok"}');
  });

  it('a path and a method cannot forge a line of the log', async () => {
    const { received } = await connection(head('POST /%0AEND%20POST%20/usercache/put?x=1#%0A', 'Content-Length: 0'));
    await until(() => received().includes('404'));
    expect(kit.console[0]).toMatch(/^START \S+ POST \/%0AEND%20POST%20\/usercache\/put$/);
    expect(kit.log[0]).toBe('INFO:w1-1:START POST /%0AEND%20POST%20/usercache/put');
  });
});

describe('callers that use more than their share', () => {
  it('a caller without a valid token who announces a large body is refused after the first bytes', async () => {
    const start = `{"user":"nobody","phone_to_server":[${' '.repeat(70_000)}`;
    const inBody = head('POST /usercache/put', ofJson, 'Content-Length: 60000000') + start;
    for (const sent of [headOf('/usercache/put', 'nobody', 60_000_000), inBody]) {
      const { received } = await connection(sent);
      await until(() => received().includes('"status":403'));
    }
  });

  /** A put of a user, of which `sent` bytes are sent now; `finish` sends the others. */
  const begin = async (user: string, length: number, sent: number) => {
    const body = notes(length, { user });
    const begun = await connection(headOf('/usercache/put', user, body.length) + body.slice(0, sent));
    await until(() => logged(`Found user email ${user}`) > 0);
    return { ...begun, finish: () => begun.socket.write(body.slice(sent)) };
  };
  const openForWaiting = (patience: number): Promise<void> => {
    const large = { total: mebibyte, perCaller: mebibyte / 2, perNetwork: 0 };
    return open({ bytes: { large, patience } }, {}, ['bob', 'eve', 'joe']);
  };
  /** Pushes a large body that fits beside two of 400,000 bytes. */
  const pushAs = (user: string) =>
    post('/usercache/put', notes(200_000, { ts: 2, user }), { Authorization: `Bearer ${user}` });
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
  });

  it('a body for which no memory becomes free gets a 503, and its connection takes the next call', async () => {
    await openForWaiting(200);
    for (const user of ['ada', 'eve']) await begin(user, 400_000, 390_000);
    const waiting = await begin('joe', 400_000, 200_000);
    await until(() => /HTTP\/1\.1 503.*retry-after: 5\r/is.test(waiting.received()));
    expect((await post('/usercache/put', putBody([androidLocation(3)]))).status).toBe(200); // a small one
    waiting.finish();
    waiting.socket.write(health);
    await until(() => waiting.received().includes('"status":"ok"'));
  });

  it('callers that announce bodies and send nothing, or half, do not prevent puts of others', async () => {
    const members = Array.from({ length: 18 }, (_, i) => `member${i}`);
    await open({}, {}, ['bob', 'eve', ...members]);
    const announce = (user: string) => headOf('/usercache/put', user, 131_072);
    const idle = await connections(120, (i) => announce(i % 2 === 0 ? 'bob' : 'eve'));
    await until(() => logged('Found user email') === idle.length);
    expect((await post('/usercache/put', putBody([androidLocation(1)]))).json).toMatchObject({ inserted: 1 });
    const half = await connections(18 * 7, (i) => announce(`member${i % 18}`) + ' '.repeat(131_000));
    await until(() => logged('Found user email') >= idle.length + half.length);
    for (let i = 2; i < 8; i += 1) {
      const answer = await post('/usercache/put', putBody([androidLocation(i)]), { Authorization: 'Bearer ada' });
      expect(answer.json).toMatchObject({ inserted: 1 });
    }
  });

  it('150 simultaneous large bodies are stored beside stalled and aborted ones, also while the server stops', async () => {
    const phones = Array.from({ length: 10 }, (_, i) => `phone${i}`);
    const large = { ...byteLimits.large, perCaller: 8 * mebibyte };
    await open({ bytes: { large, patience: 60_000 } }, { drainSeconds: 60 }, phones);
    const bodyOf = (i: number) => notes(300_000, { ts: 1463502000 + i, user: `phone${i % 10}` });
    const bad = await connections(20, (i) => {
      const body = bodyOf(i);
      return headOf('/usercache/put', `phone${i % 10}`, body.length) + body.slice(0, -20_000);
    });
    await until(() => logged('START') === 20);
    const pushing = numbers(100, 250).map(async (i) => {
      const headers = { Authorization: `Bearer phone${i % 10}` };
      return (await post('/usercache/put', bodyOf(i), headers)).status;
    });
    for (const { socket } of bad.slice(10)) socket.destroy();
    await until(() => logged('START') === 170);
    const closing = serving.close();
    expect(new Set(await Promise.all(pushing))).toEqual(new Set([200]));
    for (const { socket } of bad) socket.destroy();
    await closing;
    let stored = 0;
    for (const name of phones) stored += await kit.store.usercache.count((await kit.store.users.byEmail(name))!.uuid);
    expect(stored).toBe(150);
  });

  it('four unread answers of a caller at a time are held and then closed, and do not block other callers', async () => {
    await open({}, { stallSeconds: 3 }, ['eve']);
    expect((await post('/usercache/put', notes(100_000, { count: 80 }))).status).toBe(200);
    const body = JSON.stringify({ user: 'ada', start_time: 0, end_time: 4e9 });
    for (const { socket } of await connections(8)) {
      socket.pause();
      socket.write(headOf('/datastreams/find_entries/timestamp', 'ada', body.length) + body);
    }
    await until(() => logged('START POST /datastreams') === 8);
    expect((await post('/usercache/put', putBody([androidLocation(1)], 'eve'))).status).toBe(200);
    // Nobody reads: the server ends them, and then there is room again.
    await until(() => logged('END POST /datastreams') === 4);
    await until(() => logged('END POST /datastreams') === 8);
    const again = await post('/datastreams/find_entries/timestamp', body);
    expect([again.status, (again.json.phone_data as unknown[]).length]).toEqual([200, 80]);
  });
});

it('idle connections do not delay the stop, also before a first call', async () => {
  await open({}, { drainSeconds: 1000 });
  await fetch(url('/healthz')).then((response) => response.text());
  const idle = await connection();
  await serving.close();
  await idle.ended;
});

it('a stalled call delays the stop only for the drain time', async () => {
  await open({}, { drainSeconds: 0.5 });
  const stuck = await connection(`${head('POST /usercache/put', ofJson, 'Content-Length: 100')}{`);
  await until(() => logged('START POST') > 0);
  await serving.close();
  await stuck.ended;
});

describe('connections that ask for too much', () => {
  it('calls of one connection are answered one at a time, in order', async () => {
    const body = putBody([androidLocation(1)]);
    const put = head('POST /usercache/put', ofJson, `Content-Length: ${body.length}`) + body;
    const { received } = await connection(put + health + put + health);
    await until(() => received().split('HTTP/1.1 200').length === 5);
    expect(received().match(/"inserted":1|"updated":1|"ok"/g)).toEqual(['"inserted":1', '"ok"', '"updated":1', '"ok"']);
    const startsAndEnds = kit.console.map((line) => line.split(' ')[0]);
    expect(startsAndEnds).toEqual(Array(4).fill(['START', 'END']).flat());
  });

  it('a connection that pipelines many calls is closed, and others are answered', async () => {
    const flood = await connection();
    flood.socket.pause();
    flood.socket.write(health.repeat(1_000));
    await flood.ended;
    expect(kit.console.filter((line) => line.startsWith('START')).length).toBeLessThan(10);
    expect((await fetch(url('/healthz'))).status).toBe(200);
  });

  it('when few connections are left, the oldest idle ones are closed for new ones', async () => {
    serving = await listen(kit.app, { drainSeconds: 1, maxConnections: 20 });
    const silent = await connections(40);
    for (let i = 0; i < 10; i++) {
      expect((await fetch(url('/healthz'), { headers: { Connection: 'close' } })).status).toBe(200);
    }
    await silent[0]!.ended;
  });

  it('the connections of an address that is not a proxy are limited', async () => {
    serving = await listen(kit.app, { drainSeconds: 1, maxConnections: 30, proxies: new BlockList() });
    const open = await connections(3);
    expect(await (await connection()).ended).toBe('');
    open[0]!.socket.destroy();
    await until(async () => {
      const { socket, received, ended } = await connection(health);
      await Promise.race([ended, until(() => received() !== '')]);
      socket.destroy();
      return received().includes('"ok"');
    });
  });

  it('a connection has less time for its headers when more than half of the connections are taken', async () => {
    serving = await listen(kit.app, { drainSeconds: 1, maxConnections: 10 });
    const began = performance.now();
    const slow = await connections(6, () => 'GET / HTTP/1.1\r\nHost:');
    expect(await slow[0]!.ended).toContain('HTTP/1.1 408');
    expect(performance.now() - began).toBeLessThan(19_000); // 5 to 10 s; 20 s in a server that is hardly used
  });
});

it('unread answers are limited in bytes per caller, and no other caller is delayed', async () => {
  await open({ bytes: { answers: { ...byteLimits.answers, perCaller: 3 * mebibyte } } }, {}, ['bob']);
  const profile = { user: 'ada', update_doc: { note: 'x'.repeat(1_000_000) } };
  expect((await post('/profile/update', JSON.stringify(profile))).status).toBe(200);
  const call = `${head('POST /profile/get', ofJson, 'Content-Length: 14')}{"user":"ada"}`;
  const unread = await connections(8);
  for (const { socket } of unread) socket.pause();
  // What the system keeps of a connection is not the server's: the calls after the first ones find it full.
  for (const { socket } of unread) socket.write(call.repeat(8));
  const limit = 'meets the limit unsent_bytes = 3145728';
  await until(() => logged(limit) > 0);
  expect((await post('/profile/get', '{"user":"bob"}')).status).toBe(200);
  for (const { socket } of unread) socket.destroy();
  await until(async () => (await post('/profile/get', '{"user":"ada"}')).status === 200);
});
