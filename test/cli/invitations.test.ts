// Invitations: what is printed for people, and what it lets them do.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tokenHash } from '../../src/model/user.ts';
import { freshProgram } from './kit.ts';

it('each invitation sheet has a sign-in link and no token, and no token remains if its files cannot be written', async () => {
  const program = await freshProgram();
  const env = { MOBILITY_PUBLIC_URL: 'https://mobility.example.org' };
  const run = (...args: string[]) => program.run(args, { env });
  await run('study', 'create', 'sunny', '--list');
  const out = join(program.folder, 'sheets');
  await run('study', 'invite', 'sunny', '--count', '3', '--app', 'owntracks', '--out', out);
  const page = await readFile(join(out, 'invitations.html'), 'utf8');
  const people = (await readFile(join(out, 'people.csv'), 'utf8')).trim().split('\n').slice(1);
  expect([page.match(/<main class="sheet">/g)?.length, people.length]).toEqual([3, 3]);
  expect(page).not.toMatch(/<script|mob_|nrelop_|src=|@import/);
  const links = [...page.matchAll(/<code>(https:\/\/mobility\.example\.org\/me\/open\?key=[\w-]{43})<\/code>/g)];
  expect(new Set(links.map(([, link]) => link)).size).toBe(3);
  const [, uuid] = people[0]!.split(',');
  const tokens = await program.withStore((store) => store.tokens.list(uuid!));
  expect(tokens.map(({ kind }) => kind).sort()).toEqual(['link', 'owntracks']);
  const hashes = links.map(([, link]) => tokenHash(link!.slice(link!.indexOf('key=') + 4)));
  expect(hashes).toContain(tokens.find(({ kind }) => kind === 'link')!.hash);
  const [name] = people[0]!.split(',');
  expect((await run('doctor', '--user', name!.slice(-8), '--json')).json()).toMatchObject({ user_email: name });
  await run('users', 'revoke', name!, tokens.find(({ kind }) => kind === 'owntracks')!.hash.slice(0, 8));
  expect((await run('doctor', '--user', name!)).stdout).toContain(`users token ${name} --app owntracks --qr`);
  const link = tokens.find(({ kind }) => kind === 'link')!.hash;
  await program.withStore((store) => store.tokens.revoke(uuid!, link, { ts: 1_719_990_000, why: 'used' }));
  expect((await run('users', 'tokens', name!)).stdout).toMatch(/ link .* used 2024-07-03 07:00 +2024-07-03 07:00 /);
  expect(await run('study', 'invite', 'sunny', '--out', out)).toMatchObject({ code: 2 });
  expect((await run('users', 'list', '--json')).json<{ users: unknown[] }>().users).toHaveLength(3);
});

it('the link of a study leads to its page if the address of the server is known', async () => {
  const program = await freshProgram();
  await program.run(['study', 'create', 'sunny', '--subgroup', 'west', '--subgroup', 'east']);
  const link = async (...args: string[]) =>
    (await program.run(['study', 'link', 'sunny', '--subgroup', 'west', ...args])).stdout.trim();
  expect(await link()).toBe('emission://join?study_config=sunny&sub_group=west');
  expect(await link('--server', 'https://m.example')).toBe('https://m.example/join/sunny?sub_group=west');
  expect(await link('--server', 'https://m.example', '--scheme', 'nrelopenpath')).toMatch(/^nrelopenpath:/);
});
