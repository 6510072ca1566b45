// `mobility migrate`: what it takes, what it says, and how it ends.
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { freshProgram, type Program } from './kit.ts';

async function withPeople(): Promise<Program & { target: string }> {
  const program = await freshProgram();
  await program.run(['simulate', '--users', '2', '--from', '2024-03-12']);
  await program.run(['pipeline', '--all']);
  return { ...program, target: join(program.folder, 'target') };
}

const first = 'sim-demo-1@example.org';

describe('migrate', () => {
  it('copies to a store that it creates, and shows the rows of both sides', async () => {
    const { run, address, target } = await withPeople();
    const { code, stdout, stderr } = await run(['migrate', '--from', address, '--to', `sqlite:${target}`]);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^COLLECTION +ROWS +COPIED +REMOVED\nusers +2 +2 +0\n/);
    expect(stdout).toMatch(/\n2 users: 2 copied, 0 already equal; both sides are equal, \d\.\d\d s\n$/);
    const diary = ['diary', '--user', first, '--day', '2024-03-12'];
    const [here, there] = [await run(diary), await run([...diary, '--store', target])];
    expect(there).toMatchObject({ code: 0, stdout: here.stdout });
  });

  it('takes the store of the settings for the side that is not given', async () => {
    const { run, address, target } = await withPeople();
    expect((await run(['migrate', '--to', target, '--json'])).json()).toMatchObject({
      from: `sqlite:${address}`,
      to: `sqlite:${target}`,
      equal: true,
    });
    const other = await run(['migrate', '--from', address, '--store', target, '--json']);
    expect(other.json()).toMatchObject({ copied: 0, same: 2, equal: true });
  });

  it('as a dry run makes and copies nothing, and ends with 0', async () => {
    const { run, folder, target } = await withPeople();
    const before = await readdir(folder);
    const { code, json } = await run(['migrate', '--to', target, '--dry-run', '--json']);
    expect(code).toBe(0);
    const report = json();
    expect(report).toMatchObject({ dry_run: true, equal: false, copied: 2, collections: { users: { copied: 2 } } });
    expect(await readdir(folder)).toEqual(before);
    const { stdout } = await run(['migrate', '--to', target, '--dry-run']);
    expect(stdout).toMatch(/^COLLECTION +ROWS +TO COPY +TO REMOVE\n/);
    expect(stdout).toContain('2 users: 2 to copy, 0 already equal; both sides are not equal');
  });

  it('ends with 3 and names users who differ between the two sides', async () => {
    const { run, target } = await withPeople();
    await run(['migrate', '--to', target]);
    await run(['users', 'token', first, '--store', target]);
    const { code, stdout } = await run(['migrate', '--to', target]);
    expect(code).toBe(3);
    expect(stdout).toMatch(
      /^sim-demo-1@example\.org: differs: the target has something else .*--overwrite.*\nCOLLECTION/,
    );
    expect(stdout).toContain('2 users: 0 copied, 1 already equal, 1 not copied; both sides are not equal');
    expect((await run(['migrate', '--to', target, '--overwrite'])).code).toBe(0);
  });

  it('refuses a target with other users, unless they may be together', async () => {
    const { run, target } = await withPeople();
    await run(['users', 'add', 'somebody else', '--store', target]);
    const { code, stderr } = await run(['migrate', '--to', target]);
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^mobility: MOBILITY_USER_EXISTS: .*found 1: .*--merge\n$/),
    ]);
    const merged = await run(['migrate', '--to', target, '--merge']);
    expect([merged.code, merged.stdout]).toEqual([0, expect.stringContaining('1 other user at the target')]);
  });

  it('waits for the lease of a user, skips the user if the lease is renewed, and ends with 3', async () => {
    const { run, target, withStore } = await withPeople();
    await withStore(async (store) => {
      const { uuid } = (await store.users.byEmail(first))!;
      const taken = await store.leases.acquire(uuid, 'pipeline 7 on host', 2);
      if (!('lease' in taken)) throw new Error('expected a free user');
      const working = setInterval(() => void store.leases.renew(taken.lease, 2), 200);
      const { code, stdout } = await run(['migrate', '--to', target]).finally(() => clearInterval(working));
      expect(code).toBe(3);
      expect(stdout).toContain(`${first}: busy: pipeline 7 on host works on this user at the source`);
    });
  });

  it.each([
    [[], 'expected --from ADDRESS or --to ADDRESS'],
    [['--to', 'ftp://example.org'], 'as the address of a store'],
    [['--from', 'nowhere', '--to', 'elsewhere'], 'no store in the folder nowhere'],
    [['--from', './same', '--to', 'sqlite:same/../same'], 'expected two stores'],
    [['--to', 'mongodb://u:secret@h/d', '--from', 'mongodb://u:secret@h/d'], 'expected two stores'],
  ])('with %j says that this cannot be, with 2, and makes nothing', async (args, message) => {
    const { folder, run, address } = await freshProgram();
    await run(['users', 'add', 'ada']);
    const { code, stdout, stderr } = await run(['migrate', ...args]);
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining(message)]);
    expect(stderr).not.toContain('secret');
    expect(await readdir(folder)).toEqual([address.split('/').at(-1)]);
    expect(['nowhere', 'elsewhere', 'same'].filter((name) => existsSync(name))).toEqual([]);
  });
});
