// Tokens over their life, studies and their invitations, from the command line.
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { putBatch } from '../../src/intake/put-batch.ts';
import type { Entry } from '../../src/model/entry.ts';
import { readStudyToken } from '../../src/model/study.ts';
import { tokenHash } from '../../src/model/user.ts';
import type { Untyped } from '../support/untyped.ts';
import { freshProgram } from './kit.ts';

const day = 86_400;

describe('tokens', () => {
  it('of people expire after a year, of other apps and imported ones never, unless a flag sets it', async () => {
    const { run, json, folder, withStore, refuse } = await freshProgram('ada');
    const file = join(folder, 'people.csv');
    await writeFile(file, 'user_email,token\nben,made-elsewhere-0001\n');
    for (let i = 0; i < 2; i += 1) expect((await run(['users', 'import', file])).code).toBe(0);
    const args: [string[], string, number | null][] = [
      [[], 'made', 365],
      [['--never'], 'made', null],
      [['--expires', '3'], 'made', 3],
      [['--import', 'made-elsewhere-0002'], 'imported', null],
      [['--app', 'owntracks', '--server', 'https://a.example/x/'], 'owntracks', null],
    ];
    for (const [flags, kind, days] of args) {
      const made = await json('users', 'token', 'ada', ...flags);
      const kept = await withStore((store) => store.tokens.byHash(tokenHash(made.token)));
      expect([made.kind, kept!.kind]).toEqual([kind, kind]);
      expect(kept!.expires_ts === null ? null : (kept!.expires_ts - kept!.created_ts) / day).toBe(days);
    }
    const ofBen = await withStore((store) => store.tokens.byHash(tokenHash('made-elsewhere-0001')));
    expect(ofBen).toMatchObject({ kind: 'imported' });
    await refuse(['users', 'token', 'ada', '--import', 'made-elsewhere-0001'], 'another account');
    await refuse(['users', 'token', 'ada', '--import', 'short'], 'MOBILITY_USAGE');
  });

  it('are replaced with an overlap, listed by an id that is no token, and revoked one by one', async () => {
    const { run, json, show, refuse, withUser } = await freshProgram('ada');
    const old = await json('users', 'token', 'ada');
    const fresh = await json('users', 'token', 'ada', '--replace', '--overlap', '7');
    const kept = () => withUser('ada', (store, uuid) => store.tokens.list(uuid));
    const before = (await kept()).find(({ hash }) => hash === tokenHash(old.token))!;
    expect(before.expires_ts! - before.created_ts).toBeLessThan(8 * day);
    expect((await show(['users', 'tokens', 'ada'], old.id)).stdout).not.toContain(old.token);
    await refuse(['users', 'revoke', 'ada', 'ffffffff0'], 'MOBILITY_USAGE');
    expect((await run(['users', 'revoke', 'ada', old.id])).code).toBe(0);
    const valid = (await kept()).filter(({ revoked_ts }) => revoked_ts === undefined);
    expect(valid.map(({ hash }) => hash)).toEqual([tokenHash(fresh.token)]);
    const again = { code: 0, stderr: 'already revoked at 2024-07-03 09:46 UTC\n' };
    expect(await run(['users', 'revoke', 'ada', old.id])).toMatchObject(again);
    await refuse(['users', 'token', 'ada', '--overlap', '7'], 'MOBILITY_USAGE');
  });

  it('are listed with the phone that used each', async () => {
    const { run, show, json, withUser } = await freshProgram('ada');
    const ids: string[] = [];
    for (let i = 0; i < 3; i += 1) ids.push((await json('users', 'token', 'ada')).id);
    await withUser('ada', async (store, uuid) => {
      for (const [i, platform] of ['android', 'ios'].entries()) {
        const metadata = { key: 'ours/mood', platform, write_ts: i, type: 'message' };
        const options = { store, now: () => 1, sentWith: ids[i]! };
        await putBatch(uuid, [{ metadata, data: {} } as Entry], options);
      }
    });
    for (let i = 0; i < 2; i += 1) {
      const { tokens } = await json('users', 'tokens', 'ada');
      const sources = Object.fromEntries(tokens.map(({ id, entries_of }: Untyped) => [id, entries_of]));
      expect(ids.map((id) => sources[id])).toEqual(['android', 'ios', null]);
      await run(['pipeline', '--user', 'ada']);
    }
    await show(['users', 'tokens', 'ada'], new RegExp(`^${ids[1]} .* never +ios$`, 'm'));
  });

  it('for other apps come with settings, a link and a QR code', async () => {
    const { json, show, refuse } = await freshProgram('ada');
    const made = (app: string) => json('users', 'token', 'ada', '--app', app, '--server', 'https://a.example');
    const owntracks = await made('owntracks');
    const inline = new URL(owntracks.link).searchParams.get('inline')!;
    expect(JSON.parse(Buffer.from(inline, 'base64').toString())).toMatchObject({
      _type: 'configuration',
      mode: 3,
      url: 'https://a.example/pub',
      password: owntracks.token,
      username: 'ada',
    });
    const overland = await made('overland');
    expect(Object.fromEntries(new URL(overland.link).searchParams)).toEqual({
      url: 'https://a.example/overland',
      token: overland.token,
    });
    const traccar = await made('traccar');
    expect(new URL(traccar.link).searchParams.get('id')).toBe(traccar.token);
    await show(['users', 'token', 'ada', '--qr'], /^mob_[\w-]{43}\n[█▀▄ \n]+$/);
    await refuse(['users', 'token', 'ada', '--app', 'overland'], 'MOBILITY_PUBLIC_URL');
  });
});

describe('studies', () => {
  it('are made, shown, closed and opened', async () => {
    const { run, show, json, refuse } = await freshProgram();
    await refuse(['study', 'create', 'No Name'], 'MOBILITY_USAGE');
    expect((await run(['study', 'create', 'sunny', '--subgroup', 'west', '--subgroup', 'east'])).code).toBe(0);
    await refuse(['study', 'link', 'sunny'], '--subgroup');
    const state = () => json('study', 'show', 'sunny');
    expect(await state()).toMatchObject({ open: true, people: { west: 0, east: 0 } });
    expect((await run(['study', 'close', 'sunny'])).code).toBe(0);
    expect(await state()).toMatchObject({ open: false });
    await run(['study', 'open', 'sunny']);
    expect(await state()).toMatchObject({ open: true });
    await show(['study', 'list'], /sunny +open +west, east +0 +none/);
    await refuse(['study', 'show', 'nothing'], 'mobility study list');
  });

  it('give tokens for accounts of their subgroup, which is a filter', async () => {
    const { run, json, folder, withStore } = await freshProgram();
    await run(['study', 'create', 'sunny', '--subgroup', 'west', '--subgroup', 'east', '--list']);
    const made = (await json('study', 'tokens', 'sunny', '--subgroup', 'west', '--count', '3')).users;
    await run(['study', 'tokens', 'sunny', '--subgroup', 'east']);
    await run(['users', 'add', 'ada']);
    for (const { token } of made) {
      expect(readStudyToken(token)).toEqual({ study: 'sunny', subgroup: 'west' });
      expect(await withStore((store) => store.tokens.byHash(tokenHash(token)))).toMatchObject({ kind: 'study' });
    }
    const out = join(folder, 'out');
    expect((await run(['export', '--study', 'sunny', '--subgroup', 'west', '--out', out])).code).toBe(0);
    expect(await readdir(out)).toHaveLength(3);
    const selections = [[], ['--study', 'sunny'], ['--study', 'sunny', '--subgroup', 'west']];
    const listed = await Promise.all(selections.map((flags) => json('users', 'list', ...flags)));
    expect(listed.map(({ users }) => users.length)).toEqual([5, 4, 3]);
  });

  it('that do not exist are refused by every command that selects by them, and so are their subgroups', async () => {
    const { run, folder, refuse } = await freshProgram();
    await run(['study', 'create', 'sunny', '--subgroup', 'west', '--subgroup', 'east']);
    for (const command of ['users list', 'purge-keys', `export --out ${folder}/out`]) {
      await refuse(`${command} --study rainy`, 'no study "rainy"');
      const expected = 'expected --subgroup west or east for sunny, found north';
      await refuse(`${command} --study sunny --subgroup north`, expected);
    }
    await refuse(['erase', '--subgroup', 'west', '--user', 'ada', '--yes'], "cannot be used with option '--user");
    const west = `export --study sunny --subgroup west --out ${folder}/out`;
    await refuse(west, 'the study sunny, subgroup west has no members');
    expect((await run(['users', 'list', '--study', 'sunny'])).code).toBe(0);
  });

  it('that are created again report the changes: who can join, and an outdated configuration', async () => {
    const { run } = await freshProgram();
    await run(['study', 'create', 'sunny', '--subgroup', 'west', '--list']);
    await run(['study', 'config', 'sunny', '--server', 'https://a.example']);
    await run(['study', 'close', 'sunny']);
    const again = await run(['study', 'create', 'sunny', '--subgroup', 'west', '--subgroup', 'east']);
    expect(again.stderr).toBe(
      'the study existed: settings replaced; joining: closed before, now open; subgroups: west before, now west, east\n' +
        'the configuration has the earlier subgroups: run mobility study config sunny again\n',
    );
    await run(['study', 'config', 'sunny', '--server', 'https://a.example']);
    const same = await run(['study', 'create', 'sunny', '--subgroup', 'west', '--subgroup', 'east']);
    expect(same.stderr).toBe('the study existed: settings replaced\n');
  });

  it('keep each subgroup that has members', async () => {
    const { run, refuse } = await freshProgram();
    const create = (...names: string[]) => ['study', 'create', 'walk', ...names.flatMap((one) => ['--subgroup', one])];
    await run(create('west', 'east', 'north'));
    await run(['study', 'tokens', 'walk', '--subgroup', 'east', '--count', '7']);
    await refuse(create('west'), 'found no --subgroup east (7 people)');
    // Without --subgroup, the subgroups stay unchanged.
    expect((await run(create())).stderr).toBe('the study existed: settings replaced\n');
    expect((await run(create('east'))).stderr).toContain('subgroups: west, east, north before, now east');
  });

  it('write a configuration that is checked, whose version grows with every change only', async () => {
    const { run, succeed, folder, refuse } = await freshProgram();
    await run(['study', 'create', 'sunny', '--subgroup', 'west']);
    const texts = join(folder, 'texts.json');
    const given = { intro: { mode_studied: 'e-bike' }, survey_info: { 'trip-labels': 'ENKETO' } };
    await writeFile(texts, JSON.stringify(given));
    const write = async (...flags: string[]) => {
      const command = ['study', 'config', 'sunny', '--server', 'https://a.example/api/', '--out', folder];
      await succeed([...command, ...flags]);
      return JSON.parse(await readFile(join(folder, 'sunny.nrel-op.json'), 'utf8'));
    };
    const first = await write();
    expect(first).toMatchObject({
      version: 1,
      url_abbreviation: 'sunny',
      opcode: { autogen: true, subgroups: ['west'] },
      server: { connectUrl: 'https://a.example/api/', aggregate_call_auth: 'user_only' },
    });
    expect(await write()).toEqual(first);
    const second = await write('--file', texts);
    expect(second).toMatchObject({ version: 2, intro: { mode_studied: 'e-bike', program_or_study: 'study' } });
    await writeFile(texts, JSON.stringify({ survey_info: { 'trip-labels': 'OTHER' } }));
    const command = ['study', 'config', 'sunny', '--server', 'https://a.example'];
    await refuse([...command, '--file', texts], 'survey_info.trip-labels: expected MULTILABEL or ENKETO');
    await refuse([...command, '--file', `${texts}.none`], 'cannot read');
    await refuse([...command, '--out', `${texts}/none`], 'cannot write');
  });

  it.each(['old-style', 'empty-texts', 'several-modes'])('%s: a published configuration is kept', async (name) => {
    const { run, json } = await freshProgram();
    await run(['study', 'create', 'sunny', '--subgroup', 'default']);
    const file = fileURLToPath(new URL(`../fixtures/studies/${name}.json`, import.meta.url));
    const given = JSON.parse(await readFile(file, 'utf8'));
    const args = ['study', 'config', 'sunny', '--server', 'https://a.example'];
    const first = await json(...args, '--file', file);
    const set = { url_abbreviation: 'sunny', server: expect.objectContaining({ connectUrl: 'https://a.example/' }) };
    const counted = { version: expect.any(Number), ts: expect.any(Number) };
    expect(first).toMatchObject({ ...given, ...set, ...counted, ...(given.opcode && { opcode: expect.anything() }) });
    // People of a study without `opcode` have tokens of three parts, which the app takes only where there is none.
    expect(Object.hasOwn(first, 'opcode')).toBe(given.opcode !== undefined);
    expect(await json(...args)).toEqual(first);
  });
});

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
