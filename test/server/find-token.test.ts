// Who sends a large body: found by a look at its ends, wherever a phone writes the token.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { searchedLength, tokenAtEnd, tokenAtStart } from '../../src/server/read-body.ts';

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
  for (const text of ['{"a":{"user":"x"}}', '{"a":"\\"user\\":\\"x\\""}', ...others]) {
    expect(tokenAtStart(bytes(text), 'user'), text).toBeNull();
  }
  expect(tokenAtEnd(bytes('{"a":[{"user":"x"}]}'), 'user')).toBeNull();
  expect(tokenAtEnd(bytes('"user"'.repeat(100_000)), 'user')).toBeNull();
});
