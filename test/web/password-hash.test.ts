// Passwords of managers with the cost that the service uses; other tests use a lower one.
import { scryptSync } from 'node:crypto';
import { expect, it } from 'vitest';
import { isPassword, passwordHash } from '../../src/web/password-hash.ts';

it('a stored password is the key of scrypt with N = 2^15, and only the right password is accepted', async () => {
  const stored = await passwordHash('a password for tests');
  const [name, salt, key] = stored.split(':');
  const cost = { N: 2 ** 15, r: 8, p: 1, maxmem: 64 * 1024 * 1024 };
  const expected = scryptSync('a password for tests', Buffer.from(salt!, 'base64url'), 32, cost);
  expect([name, key]).toEqual(['scrypt', expected.toString('base64url')]);
  expect(await isPassword('a password for tests', stored)).toBe(true);
  expect(await isPassword('another password', stored)).toBe(false);
  expect(await isPassword('a password for tests', undefined)).toBe(false);
});
