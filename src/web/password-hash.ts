import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';

const hashCost = 2 ** 15; // N of scrypt: needs 32 MiB and, with the p below, about 0.2 s per hash
const [blockSize, parallel] = [8, 3]; // r and p of scrypt; p as OWASP recommends for this N

export const leastPassword = 12;

/**
 * Older hashes are `scrypt:<salt>:<key>`, with p = 1. An unknown manager (undefined) gets an empty
 * hash, so that the check takes as long as for a known manager.
 */
function partsOf(stored: string | undefined, cost: number) {
  const parts = (stored ?? `scrypt:${cost}:${blockSize}:${parallel}::`).split(':');
  const [N, , p, salt, key] = parts.length === 6 ? parts.slice(1) : [hashCost, blockSize, 1, ...parts.slice(1)];
  const [saltBytes, keyBytes] = [salt, key].map((text) => Buffer.from(String(text), 'base64url')) as [Buffer, Buffer];
  return { N: Number(N), p: Number(p), salt: saltBytes, key: keyBytes };
}

const derived = (password: string, salt: Buffer, N: number, p: number): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const cost = { N, r: blockSize, p, maxmem: 64 * 1024 * 1024 };
    scrypt(password.normalize('NFKC'), salt, 32, cost, (error, key) => (error ? reject(error) : resolve(key)));
  });

export async function passwordHash(password: string, cost = hashCost): Promise<string> {
  const salt = randomBytes(16);
  const key = await derived(password, salt, cost, parallel);
  return ['scrypt', cost, blockSize, parallel, salt.toString('base64url'), key.toString('base64url')].join(':');
}

/** True if the password is right. Takes the same time for a wrong password or no stored hash. */
export async function isPassword(password: string, stored: string | undefined, cost = hashCost): Promise<boolean> {
  const { N, p, salt, key } = partsOf(stored, cost);
  const found = await derived(password.slice(0, 1000), salt, N, p);
  // Old hashes must take the same time as new ones.
  if (p < parallel) await derived('', salt, N, parallel - p);
  return key.length === found.length && timingSafeEqual(key, found);
}

export const isWeak = (stored: string, cost = hashCost): boolean => {
  const { N, p } = partsOf(stored, cost);
  return N * p < cost * parallel;
};
