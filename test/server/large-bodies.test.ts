// Large bodies that go on to another process: which do, that nobody notices, and what happens when that process ends.
import { chmod } from 'node:fs/promises';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { dirname } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createPasser, makeSocketPath, prepareSocket, type SocketPath } from '../../src/server/large-bodies.ts';
import { type Serving, serve } from '../../src/server/serve.ts';
import { type SmallCalls, smallCalls } from '../../src/server/small-calls.ts';
import { always, androidLocation, config, type Kit, openKit } from './kit.ts';

let kit: Kit;
let socket: SocketPath;
/** Answers small calls, and passes large bodies on to the socket. */
let front: Serving;
/** Listens at the socket. */
let reader: Serving;
/** Answers everything by itself. */
let alone: Serving;

const options = { host: '127.0.0.1', port: 0, drainSeconds: 1 };

beforeEach(async () => {
  kit = await openKit({ config: { ...config, bodyLimitMiB: 8 } });
  await kit.user('ada');
  await kit.user('jürgen');
  socket = await makeSocketPath();
  reader = await serve({ app: kit.another({ thread: 'w3' }), ...options, path: socket.path });
  front = await listen(always);
  alone = await serve({ app: kit.app, ...options });
});
const listen = (smallCalls: SmallCalls): Promise<Serving> => {
  const app = kit.another({ passing: { passOn: createPasser(socket.path), smallCalls } });
  return serve({ app, ...options });
};
afterEach(async () => {
  await Promise.all([front.close(), reader.close(), alone.close()]);
  await socket.remove();
  await kit.close();
});

const bodyOf = (length: number): string =>
  JSON.stringify({ user: 'ada', phone_to_server: [androidLocation(1463502000, { note: 'x'.repeat(length) })] });
const put = (body: unknown, headers: Record<string, string> = {}, more: object = {}) =>
  fetch(`http://127.0.0.1:${front.port}/usercache/put`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: body as string,
    ...more,
  });
const ofFront = /^w1-/;
const ofReader = /^w3-/;

/** What comes back until the server closes the connection, or `isAll`. */
async function exchange(port: number, pieces: readonly string[], isAll = (_: string) => false): Promise<string> {
  const connection = connect(port, '127.0.0.1');
  connection.setEncoding('latin1');
  let text = '';
  const ended = new Promise<void>((resolve) => {
    connection.on('data', (piece: string) => {
      text += piece;
      if (isAll(text)) resolve();
    });
    connection.on('close', () => resolve());
    connection.on('error', () => resolve());
  });
  for (const piece of pieces) connection.write(piece, 'latin1');
  await ended;
  connection.destroy();
  return text;
}

interface Sent {
  what: string;
  body: () => unknown;
  headers: Record<string, string>;
  /** The request id says who answered. */
  by: RegExp;
}

describe('a body goes on', () => {
  it.each<Sent>([
    { what: 'of a few entries', body: () => bodyOf(1_000), headers: {}, by: ofFront },
    { what: 'of 128 KiB', body: () => bodyOf(0).padEnd(128 * 1024), headers: {}, by: ofFront },
    { what: 'of more', body: () => bodyOf(0).padEnd(128 * 1024 + 1), headers: {}, by: ofReader },
    {
      what: 'of 14 KB that may inflate to more',
      body: () => gzipSync(bodyOf(14_000), { level: 0 }),
      headers: { 'Content-Encoding': 'gzip' },
      by: ofReader,
    },
    { what: 'of unknown length', body: () => new Blob([bodyOf(1)]).stream(), headers: {}, by: ofReader },
  ])('or not: one $what', async ({ body, headers, by }: Sent) => {
    const sent = body();
    const answer = await put(sent, headers, sent instanceof ReadableStream ? { duplex: 'half' } : {});
    expect([answer.status, answer.headers.get('x-request-id')]).toEqual([200, expect.stringMatching(by)]);
    expect(await answer.json()).toEqual({ inserted: 1, updated: 0, rejected: 0 });
    expect(kit.log.filter((line) => line.includes('START POST /usercache/put'))).toHaveLength(1);
    expect(kit.console).toHaveLength(2);
  });
});

describe('while nobody makes small calls', () => {
  /** Two workers that tell each other, at a time that the test sets. */
  function twoWorkers() {
    const clock = { ms: 5_000 };
    const heard: (() => void)[] = [];
    const told = [0, 0];
    const workers = [0, 1].map((self) => {
      const tell = (): void => {
        told[self]! += 1;
        heard[1 - self]!();
      };
      return smallCalls({ tell, onTold: (hear) => heard.push(hear) }, () => clock.ms);
    });
    return { clock, told, first: workers[0]!, second: workers[1]! };
  }
  const by = async (length = 200_000) => (await put(bodyOf(length))).headers.get('x-request-id');
  const until = async (isSo: () => boolean) => {
    while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 1));
  };

  it('a worker reads a large body itself', async () => {
    const { clock, first, second } = twoWorkers();
    await front.close();
    front = await listen(second);
    expect(await by()).toMatch(ofFront);
    await fetch(`http://127.0.0.1:${front.port}/healthz`);
    expect(await by()).toMatch(ofReader);
    clock.ms += 4_999;
    expect(await by()).toMatch(ofReader);
    clock.ms += 1;
    expect(await by()).toMatch(ofFront);
    first.note(); // in another worker
    expect(await by()).toMatch(ofReader);
    clock.ms += 5_000;
    expect(await by()).toMatch(ofFront);
  });

  it('but none beside another one, however slowly that comes', async () => {
    await front.close();
    front = await listen(twoWorkers().first);
    const whole = bodyOf(200_000);
    const slow = connect(front.port, '127.0.0.1');
    const answer = new Promise<string>((resolve) => slow.once('data', (text) => resolve(String(text))));
    slow.write(
      `POST /usercache/put HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${whole.length}\r\n\r\n`,
    );
    await until(() => kit.log.some((line) => line.includes('START POST')));
    expect([await by(), await by()]).toEqual([expect.stringMatching(ofReader), expect.stringMatching(ofReader)]);
    slow.write(whole);
    expect(await answer).toMatch(/^HTTP\/1\.1 200 .*x-request-id: w1-/is);
    slow.destroy();
    expect(await by()).toMatch(ofFront);
    // Also behind one that was refused.
    expect(await by(9_000_000)).toMatch(ofFront);
    expect(await by()).toMatch(ofFront);
  });

  it('workers tell each other of small calls, four times a second at most', () => {
    const { clock, told, first, second } = twoWorkers();
    expect([first.areRecent(), second.areRecent()]).toEqual([false, false]);
    for (let call = 0; call < 1_000; call += 1) {
      for (const worker of [first, second]) worker.note();
      expect([first.areRecent(), second.areRecent()]).toEqual([true, true]);
      clock.ms += 10;
    }
    expect(told[0]! + told[1]!).toBe(40); // four a second, of both together
  });
});

describe('the answer is the one that a single process gives', () => {
  const body = bodyOf(200_000);
  const head = (lines: readonly string[], path = '/usercache/put') =>
    [`POST ${path} HTTP/1.1`, 'Host: localhost', 'Content-Type: application/json', ...lines, '', ''].join('\r\n');
  const length = `Content-Length: ${body.length}`;
  const close = 'Connection: close';
  const chunk = `${body.length.toString(16)}\r\n${body}\r\n`;
  const cases: Record<string, readonly string[]> = {
    'to a put': [head([length, close]), body],
    'to one in pieces': [head([length, close]), body.slice(0, 10), body.slice(10, 150_000), body.slice(150_000)],
    'to one in chunks': [head(['Transfer-Encoding: chunked', close]), chunk, '0\r\n\r\n'],
    'to one with a trailer': [head(['Transfer-Encoding: chunked', 'Trailer: A', close]), chunk, '0\r\nA: b\r\n\r\n'],
    'to one of HTTP/1.0 without a host': [
      `POST /usercache/put HTTP/1.0\r\nContent-Type: application/json\r\n${length}\r\n\r\n`,
      body,
    ],
    'to one that expects 100': [head([length, 'Expect: 100-continue', close]), body],
    'to one whose target is a whole address': [head([length, close], 'http://localhost/usercache/put'), body],
    'to doubled slashes and a query': [head([length, close], '//usercache//put?a=//%0A'), body],
    'to another host': [head([length, close]).replace('Host: localhost', 'Host: example.org'), body],
    'to somebody whose name is not ASCII': [
      head([length, 'Authorization: Bearer j\xfcrgen', close]),
      body.replace('"user":"ada"', '"user":null '),
    ],
    'to headers that are as long as they may be': [head([length, `X: ${'x'.repeat(16_200)}`, close]), body],
    'to headers that are too long': [head([length, `X: ${'x'.repeat(16_400)}`, close]), body],
    'to another type': [head([length, close]).replace('application/json', 'text/plain'), body],
    'to what is no JSON': [head([length, close]), '{'.padEnd(body.length)],
    'to no endpoint': [head([length, close], '/nowhere'), body],
    'to a call that takes no large body': [head([`Content-Length: ${2 ** 21}`, close], '/usercache/get'), body],
    'to a body over the limit': [head([`Content-Length: ${2 ** 24}`, close]), body],
    'to a stranger': [head([length, close]), body.replace('"ada"', '"eve"')],
    'to an unknown encoding': [head([length, 'Content-Encoding: br', close]), body],
    'to a DELETE': [head([length, close]).replace('POST', 'DELETE'), body],
    'to a GET with a body, and what follows it': [
      head([length], '/healthz').replace('POST', 'GET'),
      body,
      'GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
    ],
    'to a HEAD with a body': [head([length, close], '/healthz').replace('POST', 'HEAD'), body],
    'to two lengths': [head([length, length, close]), body],
    'to a chunk that is none': [head(['Transfer-Encoding: chunked', close]), 'zz\r\n'],
  };
  const told = (text: string): string =>
    text
      .replace(/^(date|keep-alive|connection|x-request-id): .*\r\n/gim, '')
      .replace(/"request_id":"w\d-\d+"/, '')
      .replace(/"(inserted|updated)":\d/g, '') // the second of both updates what the first inserted
      .split('\r\n')
      .join('\n');

  it.each(Object.keys(cases))('%s', async (name) => {
    const [passed, own] = [await exchange(front.port, cases[name]!), await exchange(alone.port, cases[name]!)];
    expect(passed).toMatch(/^HTTP\/1\.1 \d/);
    expect(told(passed)).toBe(told(own));
    if (name.includes('not ASCII')) expect(passed).toMatch(/^HTTP\/1\.1 200 /);
    if (name.includes('follows')) expect(passed).toContain('"status":"ready"');
  });

  it('and its connection takes the next call', async () => {
    const small = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n';
    for (const sent of [body, '{'.padEnd(body.length)]) {
      const pieces = [head([length]), sent, small, head([length]), sent];
      const bodies = (text: string) => text.match(/^\{.*\}/gm) ?? [];
      const text = await exchange(front.port, pieces, (all) => bodies(all).length === 3);
      expect(text.match(/HTTP\/1\.1 \d+/g)).toHaveLength(3);
    }
  });
});

describe('a phone that leaves', () => {
  it('ends its calls, also one that came while the one before it was not answered', async () => {
    const whole = JSON.stringify({
      user: 'ada',
      phone_to_server: Array.from({ length: 10_000 }, (_, i) => androidLocation(1463502000 + i)),
    });
    const head = (length: number) =>
      `POST /usercache/put HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;
    const count = (text: string) => kit.log.filter((line) => line.includes(text)).length;
    const phone = connect(front.port, '127.0.0.1');
    phone.on('error', () => {}); // it is cut off
    phone.write(head(whole.length) + whole + head(8_000_000) + whole.slice(0, 300_000));
    while (count('START POST') < 2) await new Promise((resolve) => setTimeout(resolve, 1));
    phone.destroy();
    while (count('END POST') < 2) await new Promise((resolve) => setTimeout(resolve, 5));
  });

  it('leaves nothing open, also where its second call came whole: the next large body is read at once', async () => {
    await front.close();
    front = await listen({ note: () => {}, areRecent: () => false });
    const whole = JSON.stringify({
      user: 'ada',
      phone_to_server: Array.from({ length: 10_000 }, (_, i) => androidLocation(1463502000 + i)),
    });
    const request = `POST /usercache/put HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: `;
    const calls = [whole, bodyOf(200_000)].map((one) => `${request}${one.length}\r\n\r\n${one}`);
    const ended = () => kit.log.filter((line) => line.includes('END POST')).length;
    const phone = connect(front.port, '127.0.0.1');
    phone.on('error', () => {}); // it is cut off
    phone.write(calls.join(''));
    while (ended() === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    phone.destroy();
    while (!ofFront.test((await put(bodyOf(200_000))).headers.get('x-request-id')!));
  });
});

describe('the other process', () => {
  it.skipIf(process.platform === 'win32')('gets nothing where its folder became somebody else’s', async () => {
    await chmod(dirname(socket.path), 0o755);
    await expect(prepareSocket(socket.path)).rejects.toMatchObject({ code: 'MOBILITY_CONFIG' });
    expect((await put(bodyOf(200_000))).headers.get('x-request-id')).toMatch(ofFront);
    await chmod(dirname(socket.path), 0o700);
    expect((await put(bodyOf(200_000))).headers.get('x-request-id')).toMatch(ofReader);
  });

  it('is being replaced: the body is read here', async () => {
    await reader.close();
    const answer = await put(bodyOf(200_000));
    expect([answer.status, answer.headers.get('x-request-id')]).toEqual([200, expect.stringMatching(ofFront)]);
  });

  it('has no limit of its own for connections: the workers have', async () => {
    await reader.close();
    reader = await serve({ app: kit.another({ thread: 'w3' }), ...options, path: socket.path, maxConnections: 1 });
    const answers = await Promise.all(Array.from({ length: 8 }, () => put(bodyOf(200_000))));
    expect(answers.map(({ status, headers }) => [status, headers.get('x-request-id')?.slice(0, 2)])).toEqual(
      Array(8).fill([200, 'w3']),
    );
  });

  it('ends while it reads: the phone is told to send it again, and the log says why', async () => {
    await reader.close();
    const dying = createServer((incoming) => incoming.once('data', () => incoming.socket.destroy()));
    await new Promise<void>((resolve) => dying.listen(socket.path, resolve));
    const answer = await put(bodyOf(4_000_000));
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5']);
    expect(await answer.json()).toMatchObject({ detail: expect.stringContaining('send all of them again') });
    expect(kit.log.filter((line) => /START|Answered|END/.test(line))).toEqual([
      expect.stringContaining('START POST /usercache/put'),
      expect.stringContaining('Answered 503'),
      expect.stringContaining('END POST /usercache/put'),
    ]);
    expect(kit.errors).toEqual([expect.stringContaining('the process that read this body ended')]);
    await new Promise((resolve) => dying.close(resolve));
  });

  it('ends while it answers: so does the answer', async () => {
    await reader.close();
    const dying = createServer((incoming, outgoing) => {
      incoming.resume().once('end', () => {
        outgoing.writeHead(200, { 'Content-Length': 100 });
        outgoing.write('{', () => incoming.socket.destroy());
      });
    });
    await new Promise<void>((resolve) => dying.listen(socket.path, resolve));
    await expect(put(bodyOf(200_000)).then((answer) => answer.text())).rejects.toThrow();
    await new Promise((resolve) => dying.close(resolve));
  });

  it('does not get more than it reads: the rest waits with the phone', async () => {
    await reader.close();
    let came = (_: unknown): void => {};
    const arrived = new Promise((resolve) => {
      came = resolve;
    });
    const slow = createServer((incoming) => {
      incoming.pause();
      came(incoming);
    });
    await new Promise<void>((resolve) => slow.listen(socket.path, resolve));
    const phone = connect(front.port, '127.0.0.1');
    const size = 64 * 1024 * 1024;
    phone.write(
      `POST /usercache/put HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${size}\r\n\r\n`,
    );
    const piece = Buffer.alloc(64 * 1024, 0x20);
    let sent = 0;
    const send = (): void => {
      phone.write(piece, (error) => {
        sent += piece.length;
        if (!error && sent < size) send();
      });
    };
    phone.on('error', () => {}); // it is cut off in the end
    send();
    await arrived;
    // Until no more is taken for a while: a busy machine may end this too early, which fails nothing.
    let before = -1;
    while (sent < 128 * 1024 || sent !== before) {
      before = sent;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect(before).toBeLessThan(size / 2); // the systems of both sides hold some
    phone.destroy();
    slow.closeAllConnections();
    await new Promise((resolve) => slow.close(resolve));
  });
});
