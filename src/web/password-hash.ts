// Passwords of managers: scrypt with a salt of their own.
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';

/** The N of scrypt: 32 MiB and about 0.07 s for one hash. */
const hashCost = 2 ** 15;

/** Characters that a password has at least. */
export const leastPassword = 12;

const derived = (password: string, salt: Buffer, N: number): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const cost = { N, r: 8, p: 1, maxmem: 64 * 1024 * 1024 };
    scrypt(password.normalize('NFKC'), salt, 32, cost, (error, key) => (error ? reject(error) : resolve(key)));
  });

/** What is stored of a password: `scrypt:<salt>:<key>`. */
export async function passwordHash(password: string, cost = hashCost): Promise<string> {
  const salt = randomBytes(16);
  return `scrypt:${salt.toString('base64url')}:${(await derived(password, salt, cost)).toString('base64url')}`;
}

/** True for the password of which `stored` is kept. Takes as long for any other, and where nothing is stored. */
export async function isPassword(password: string, stored: string | undefined, cost = hashCost): Promise<boolean> {
  const [, salt = '', key = ''] = (stored ?? '').split(':');
  const [expected, found] = [
    Buffer.from(key, 'base64url'),
    await derived(password.slice(0, 1000), Buffer.from(salt, 'base64url'), cost),
  ];
  return expected.length === found.length && timingSafeEqual(expected, found);
}
