// The bytes of a request body: chunks, gzip, limits, and the token of its sender, wherever a phone writes it.
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type BodyShare, ByteBudget } from '../../src/server/byte-budget.ts';
import {
  type IncomingBody,
  readBody as read,
  searchedLength,
  tokenAtEnd,
  tokenAtStart,
} from '../../src/server/read-body.ts';
import { statusOf } from './kit.ts';

const body = (chunks: Uint8Array[], headers: { length?: number; encoding?: string } = {}): IncomingBody => ({
  chunks: (async function* () {
    yield* chunks;
  })(),
  contentLength: headers.length === undefined ? null : String(headers.length),
  contentEncoding: headers.encoding ?? null,
});
const known = (): BodyShare => {
  const share = new ByteBudget().share();
  share.belongsTo('ada');
  return share;
};
const readBody = (incoming: IncomingBody, limit: number) =>
  read(incoming, { limit, share: known(), tokenField: 'user', isKnown: () => true, admit: async () => {} });

it('chunks are joined, for any announced length', async () => {
  for (const headers of [{}, { length: 3 }, { length: 2 }, { length: 9 }, { length: 10 }]) {
    const bytes = await readBody(body([Buffer.from('ab'), Buffer.from('c')], headers), 10);
    expect(bytes.toString()).toBe('abc');
  }
});

it('gzip is decompressed, in upper and lower case', async () => {
  for (const encoding of ['gzip', 'GZIP', 'x-gzip', ' gzip ']) {
    const bytes = await readBody(body([gzipSync('{"a":1}')], { encoding }), 1000);
    expect(bytes.toString()).toBe('{"a":1}');
  }
});

it('gzip may become 1 MiB, or 100 times as large', async () => {
  const noise = Array.from({ length: 295 }, (_, i) => createHash('sha512').update(`${i}`).digest());
  const statusFor = (bytes: Buffer) => statusOf(readBody(body([gzipSync(bytes)], { encoding: 'gzip' }), 1e7));
  expect([await statusFor(Buffer.alloc(1_048_576)), await statusFor(Buffer.alloc(1_048_577))]).toEqual([200, 413]);
  for (let hashes = 265; hashes < noise.length; hashes += 1) {
    const bytes = Buffer.concat([...noise.slice(0, hashes), Buffer.alloc(2_000_000)]);
    expect(await statusFor(bytes)).toBe(bytes.length > 100 * gzipSync(bytes).length ? 413 : 200);
  }
});

it('another encoding is refused with 415, and the answer names the accepted ones', async () => {
  const reading = readBody(body([Buffer.from('x')], { encoding: 'br' }), 10);
  await expect(reading).rejects.toMatchObject({
    status: 415,
    options: { code: 'MOBILITY_UNSUPPORTED', headers: { 'Accept-Encoding': 'gzip' } },
  });
});

it('a token is checked once, at the start for any number of pieces, or at the end, and a large body needs one', async () => {
  const admitted: string[] = [];
  const admit = async (token: string): Promise<void> => void admitted.push(token);
  const long = 'x'.repeat(200_000);
  const statusFor = (pieces: string[], tokenField: string | null = 'user') => {
    const rules = { limit: 1e6, share: known(), tokenField, isKnown: () => false, admit };
    return statusOf(read(body(pieces.map((one) => Buffer.from(one))), rules));
  };
  expect([await statusFor(['{"user":"ada","x":"', long, long, long, '"}']), admitted]).toEqual([403, ['ada']]);
  expect(await statusFor(['{"x":"', long, '","user":"eve"}'])).toBe(200);
  expect(await statusFor(['{"x":"', long, '","user":"eve"}'], null)).toBe(403);
  expect(await statusFor([`{"x":"${long}"}`])).toBe(403);
  expect(admitted).toEqual(['ada', 'eve']);
});

it('broken gzip and broken connections are refused with 400', async () => {
  const broken = gzipSync('hello').subarray(0, 12);
  expect(await statusOf(readBody(body([broken], { encoding: 'gzip' }), 1000))).toBe(400);
  expect(await statusOf(readBody(body([Buffer.from('no gzip')], { encoding: 'gzip' }), 1000))).toBe(400);
  const cut = (async function* () {
    yield Buffer.from('a');
    throw new Error('aborted');
  })();
  for (const contentEncoding of [null, 'gzip'])
    expect(await statusOf(readBody({ chunks: cut, contentLength: null, contentEncoding }, 1000))).toBe(400);
});

const bytes = (text: string) => Buffer.from(text, 'utf8');
const list = (length: number) => `[${`{"user":"inner","a":{"user":"x"}},`.repeat(Math.ceil(length / 34))}{}]`;

it('the token of a body is found before and after a long list, with any simple fields and blanks beside it', () => {
  const blank = fc.constantFrom('', ' ', '\n\t');
  const plain = fc.oneof(
    fc.constantFrom('1', '-2.5e3', 'true', 'null', 'NaN'),
    fc.string().map((s) => JSON.stringify(s)),
  );
  const names = fc.string().filter((name) => name !== 'user');
  const members = fc.array(fc.tuple(names, plain), { maxLength: 3 });
  const token = fc.string({ unit: 'binary', maxLength: 40 }).filter((text) => !/\p{Surrogate}/u.test(text));
  fc.assert(
    fc.property(token, members, members, blank, fc.boolean(), (user, before, behind, gap, atStart) => {
      const own = `"user"${gap}:${gap}${JSON.stringify(user)}`;
      const long = `"phone_to_server":${list(3 * searchedLength)}`;
      const texts = [...before.map(([n, v]) => `${JSON.stringify(n)}:${gap}${v}`), own];
      const others = behind.map(([n, v]) => `${JSON.stringify(n)}${gap}:${v}`);
      const all = atStart ? [...texts, long, ...others] : [long, ...texts, ...others];
      const body = bytes(`${gap}{${gap}${all.join(`${gap},`)}${gap}}${gap}`);
      expect((atStart ? tokenAtStart : tokenAtEnd)(body, 'user')).toBe(user);
    }),
    { numRuns: 200 },
  );
});

it('the token of a body is not read from a name within an entry, a value, or a text', () => {
  const others = ['[{"user":"x"}]', '{"b":"user","c":"x"}', '{"user":7}', '{"user":["x"]}', '"user":"x"'];
  for (const text of ['{"a":{"user":"x"}}', '{"a":"\\"user\\":\\"x\\""}', ...others])
    expect(tokenAtStart(bytes(text), 'user'), text).toBeNull();
  expect(tokenAtEnd(bytes('{"a":[{"user":"x"}]}'), 'user')).toBeNull();
  expect(tokenAtEnd(bytes('"user"'.repeat(100_000)), 'user')).toBeNull();
});
