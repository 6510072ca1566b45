// The bytes of a request body: chunks, gzip, limits.
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { type BodyShare, ByteBudget } from '../../src/server/byte-budget.ts';
import { type IncomingBody, readBody as read } from '../../src/server/read-body.ts';
import { statusOf } from './kit.ts';

const body = (chunks: Uint8Array[], headers: { length?: number; encoding?: string } = {}): IncomingBody => ({
  chunks: (async function* () {
    yield* chunks;
  })(),
  contentLength: headers.length === undefined ? null : String(headers.length),
  contentEncoding: headers.encoding ?? null,
});
const big = () => new ByteBudget().share();
const readBody = (incoming: IncomingBody, limit: number, share: BodyShare, isKnown = true) =>
  read(incoming, { limit, share, tokenField: 'user', isKnown: () => isKnown, admit: async () => {} });

const known = (): BodyShare => {
  const share = big();
  share.belongsTo('ada');
  return share;
};

it('chunks are joined, for any announced length', async () => {
  for (const headers of [{}, { length: 3 }, { length: 2 }, { length: 9 }, { length: 10 }]) {
    const bytes = await readBody(body([Buffer.from('ab'), Buffer.from('c')], headers), 10, known());
    expect(bytes.toString()).toBe('abc');
  }
});

it('gzip is decompressed, in upper and lower case', async () => {
  for (const encoding of ['gzip', 'GZIP', 'x-gzip', ' gzip ']) {
    const bytes = await readBody(body([gzipSync('{"a":1}')], { encoding }), 1000, known());
    expect(bytes.toString()).toBe('{"a":1}');
  }
});

it('gzip may become 1 MiB, or 100 times as large', async () => {
  const noise = Array.from({ length: 295 }, (_, i) => createHash('sha512').update(`${i}`).digest());
  const statusFor = (bytes: Buffer) => statusOf(readBody(body([gzipSync(bytes)], { encoding: 'gzip' }), 1e7, known()));
  expect([await statusFor(Buffer.alloc(1_048_576)), await statusFor(Buffer.alloc(1_048_577))]).toEqual([200, 413]);
  for (let hashes = 265; hashes < noise.length; hashes += 1) {
    const bytes = Buffer.concat([...noise.slice(0, hashes), Buffer.alloc(2_000_000)]);
    expect(await statusFor(bytes)).toBe(bytes.length > 100 * gzipSync(bytes).length ? 413 : 200);
  }
});

it('another encoding is refused with 415, and the answer names the accepted ones', async () => {
  const reading = readBody(body([Buffer.from('x')], { encoding: 'br' }), 10, known());
  await expect(reading).rejects.toMatchObject({
    status: 415,
    options: { code: 'MOBILITY_UNSUPPORTED', headers: { 'Accept-Encoding': 'gzip' } },
  });
});

it('a large body without a token is refused with 403', async () => {
  const large = Buffer.from(`{"phone_to_server":["${'x'.repeat(200_000)}"]}`);
  expect(await statusOf(readBody(body([large]), 1e6, big(), false))).toBe(403);
});

it('a token is checked once, at the start for any number of pieces, or at the end', async () => {
  const admitted: string[] = [];
  const admit = async (token: string): Promise<void> => void admitted.push(token);
  const pieces = ['{"user":"ada","x":"', ...Array<string>(3).fill('x'.repeat(200_000)), '"}'].map((one) =>
    Buffer.from(one),
  );
  const rules = { limit: 1e6, share: known(), tokenField: 'user', isKnown: () => false, admit };
  expect([await statusOf(read(body(pieces), rules)), admitted]).toEqual([403, ['ada']]);
  const atEnd = ['{"x":"', 'x'.repeat(200_000), '","user":"eve"}'].map((one) => Buffer.from(one));
  for (const tokenField of ['user', null])
    expect(await statusOf(read(body(atEnd), { ...rules, tokenField }))).toBe(tokenField === null ? 403 : 200);
  expect(admitted).toEqual(['ada', 'eve']);
});

it('broken gzip and broken connections are refused with 400', async () => {
  const broken = gzipSync('hello').subarray(0, 12);
  expect(await statusOf(readBody(body([broken], { encoding: 'gzip' }), 1000, known()))).toBe(400);
  expect(await statusOf(readBody(body([Buffer.from('no gzip')], { encoding: 'gzip' }), 1000, known()))).toBe(400);
  const cut = (async function* () {
    yield Buffer.from('a');
    throw new Error('aborted');
  })();
  for (const contentEncoding of [null, 'gzip']) {
    expect(await statusOf(readBody({ chunks: cut, contentLength: null, contentEncoding }, 1000, known()))).toBe(400);
  }
});
