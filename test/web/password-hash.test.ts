// Passwords of managers with the cost that the service uses; other tests use a lower one.
import { scryptSync } from 'node:crypto';
import { expect, it } from 'vitest';
import { isPassword, isWeak, passwordHash } from '../../src/web/password-hash.ts';

const password = 'a password for tests';
const maxmem = 64 * 1024 * 1024;

it('a stored password is a scrypt key with its parameters, and only the right password is accepted', async () => {
  const stored = await passwordHash(password);
  const [name, N, r, p, salt, key] = stored.split(':');
  expect([name, N, r, p]).toEqual(['scrypt', '32768', '8', '3']);
  const expected = scryptSync(password, Buffer.from(salt!, 'base64url'), 32, { N: 2 ** 15, r: 8, p: 3, maxmem });
  expect(key).toBe(expected.toString('base64url'));
  expect(await isPassword(password, stored)).toBe(true);
  expect(await isPassword('another password', stored)).toBe(false);
  expect(await isPassword(password, undefined)).toBe(false);
  expect(isWeak(stored)).toBe(false);
});

it('a password that was stored with p = 1, without parameters, is still accepted, and reported as weak', async () => {
  const salt = Buffer.from('0123456789abcdef');
  const key = scryptSync(password, salt, 32, { N: 2 ** 15, r: 8, p: 1, maxmem });
  const stored = `scrypt:${salt.toString('base64url')}:${key.toString('base64url')}`;
  expect(await isPassword(password, stored)).toBe(true);
  expect(await isPassword('another password', stored)).toBe(false);
  expect(isWeak(stored)).toBe(true);
});
