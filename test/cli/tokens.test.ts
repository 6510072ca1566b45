// Tokens over their life, and studies, from the command line.
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { putBatch } from '../../src/intake/put-batch.ts';
import type { Entry } from '../../src/model/entry.ts';
import type { JsonObject } from '../../src/model/json.ts';
import { readStudyToken } from '../../src/model/study.ts';
import { tokenHash } from '../../src/model/user.ts';
import { freshProgram } from './kit.ts';

const day = 86_400;

interface Made {
  token: string;
  id: string;
  kind: string;
  expires_ts: number | null;
  created_ts: number;
  link: string;
  settings: Record<string, string>;
}

/** The values that `study config` sets, for any file. */
const changed = {
  url_abbreviation: 'sunny',
  version: expect.any(Number),
  ts: expect.any(Number),
  server: expect.objectContaining({ connectUrl: 'https://a.example/' }),
};

describe('tokens', () => {
  it('of people expire after a year, of other apps and imported ones never, unless a flag sets it', async () => {
    const { run, folder, withStore, refuse } = await freshProgram('ada');
    const file = join(folder, 'people.csv');
    await writeFile(file, 'user_email,token\nben,made-elsewhere-0001\n');
    expect((await run(['users', 'import', file])).code).toBe(0);
    expect((await run(['users', 'import', file])).code).toBe(0);
    const args: [string[], string, number | null][] = [
      [[], 'made', 365],
      [['--never'], 'made', null],
      [['--expires', '3'], 'made', 3],
      [['--import', 'made-elsewhere-0002'], 'imported', null],
      [['--app', 'owntracks', '--server', 'https://a.example/x/'], 'owntracks', null],
    ];
    for (const [flags, kind, days] of args) {
      const made = (await run(['users', 'token', 'ada', ...flags, '--json'])).json<Made>();
      const kept = await withStore((store) => store.tokens.byHash(tokenHash(made.token)));
      expect([made.kind, kept!.kind]).toEqual([kind, kind]);
      expect(kept!.expires_ts === null ? null : (kept!.expires_ts - kept!.created_ts) / day).toBe(days);
    }
    expect(await withStore((store) => store.tokens.byHash(tokenHash('made-elsewhere-0001')))).toMatchObject({
      kind: 'imported',
    });
    await refuse(['users', 'token', 'ada', '--import', 'made-elsewhere-0001'], 'another account');
    expect((await run(['users', 'token', 'ada', '--import', 'short'])).code).toBe(2);
  });

  it('are replaced with an overlap, listed by an id that is no token, and revoked one by one', async () => {
    const { run, withStore } = await freshProgram();
    const { user_id: uuid } = (await run(['users', 'add', 'ada', '--json'])).json<{ user_id: string }>();
    const old = (await run(['users', 'token', 'ada', '--json'])).json<Made>();
    const fresh = (await run(['users', 'token', 'ada', '--replace', '--overlap', '7', '--json'])).json<Made>();
    const kept = await withStore((store) => store.tokens.list(uuid));
    expect(kept).toHaveLength(2);
    const before = kept.find(({ hash }) => hash === tokenHash(old.token))!;
    expect(before.expires_ts! - before.created_ts).toBeLessThan(8 * day);
    const listed = await run(['users', 'tokens', 'ada']);
    expect(listed.stdout).toContain(old.id);
    expect(listed.stdout).not.toContain(old.token);
    expect((await run(['users', 'revoke', 'ada', 'ffffffff0'])).code).toBe(2);
    expect((await run(['users', 'revoke', 'ada', old.id])).code).toBe(0);
    const after = await withStore((store) => store.tokens.list(uuid));
    expect(after.filter(({ revoked_ts }) => revoked_ts === undefined).map(({ hash }) => hash)).toEqual([
      tokenHash(fresh.token),
    ]);
    const again = await run(['users', 'revoke', 'ada', old.id]);
    expect([again.code, again.stderr]).toEqual([0, 'already revoked at 2024-07-03 09:46 UTC\n']);
    expect((await run(['users', 'token', 'ada', '--overlap', '7'])).code).toBe(2);
  });

  it('are listed with the phone that used each', async () => {
    const { run, withUser } = await freshProgram('ada');
    const ids: string[] = [];
    for (let i = 0; i < 3; i += 1) ids.push((await run(['users', 'token', 'ada', '--json'])).json<Made>().id);
    await withUser('ada', async (store, uuid) => {
      for (const [i, platform] of ['android', 'ios'].entries()) {
        const metadata = { key: 'ours/mood', platform, write_ts: i, type: 'message' };
        const options = { store, now: () => 1, sentWith: ids[i]! };
        await putBatch(uuid, [{ metadata, data: {} } as Entry], options);
      }
    });
    const sources = async () =>
      (await run(['users', 'tokens', 'ada', '--json']))
        .json<{ tokens: { id: string; entries_of: string }[] }>()
        .tokens.map(({ id, entries_of }) => [id, entries_of]);
    const expected = [
      [ids[0], 'android'],
      [ids[1], 'ios'],
      [ids[2], null],
    ];
    expect(await sources()).toEqual(expect.arrayContaining(expected));
    await run(['pipeline', '--user', 'ada']);
    expect(await sources()).toEqual(expect.arrayContaining(expected));
    expect((await run(['users', 'tokens', 'ada'])).stdout).toMatch(new RegExp(`^${ids[1]} .* never +ios$`, 'm'));
  });

  it('for other apps come with settings, a link and a QR code', async () => {
    const { run, refuse } = await freshProgram('ada');
    const made = async (app: string) =>
      (await run(['users', 'token', 'ada', '--app', app, '--server', 'https://a.example', '--json'])).json<Made>();
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
    const { stdout } = await run(['users', 'token', 'ada', '--qr']);
    expect(stdout).toMatch(/^mob_[\w-]{43}\n[█▀▄ \n]+$/);
    await refuse(['users', 'token', 'ada', '--app', 'overland'], 'MOBILITY_PUBLIC_URL');
  });
});

describe('studies', () => {
  it('are made, shown, closed and opened, and have a link for each subgroup', async () => {
    const { run } = await freshProgram();
    expect((await run(['study', 'create', 'No Name'])).code).toBe(2);
    expect((await run(['study', 'create', 'sunny', '--subgroup', 'west', '--subgroup', 'east'])).code).toBe(0);
    expect((await run(['study', 'link', 'sunny'])).code).toBe(2);
    const link = (await run(['study', 'link', 'sunny', '--subgroup', 'west'])).stdout.trim();
    expect(link).toBe('emission://join?study_config=sunny&sub_group=west');
    const state = async () => (await run(['study', 'show', 'sunny', '--json'])).json();
    expect(await state()).toMatchObject({ open: true, people: { west: 0, east: 0 } });
    expect((await run(['study', 'close', 'sunny'])).code).toBe(0);
    expect(await state()).toMatchObject({ open: false });
    await run(['study', 'open', 'sunny']);
    expect(await state()).toMatchObject({ open: true });
    expect((await run(['study', 'list'])).stdout).toMatch(/sunny +open +west, east +0 +none/);
    expect((await run(['study', 'show', 'nothing'])).stderr).toContain('mobility study list');
  });

  it('give tokens for accounts of their subgroup, which is a filter', async () => {
    const { run, folder, withStore } = await freshProgram();
    await run(['study', 'create', 'sunny', '--subgroup', 'west', '--subgroup', 'east', '--list']);
    const made = (await run(['study', 'tokens', 'sunny', '--subgroup', 'west', '--count', '3', '--json'])).json<{
      users: Made[];
    }>().users;
    await run(['study', 'tokens', 'sunny', '--subgroup', 'east']);
    await run(['users', 'add', 'ada']);
    for (const { token } of made) {
      expect(readStudyToken(token)).toEqual({ study: 'sunny', subgroup: 'west' });
      expect(await withStore((store) => store.tokens.byHash(tokenHash(token)))).toMatchObject({ kind: 'study' });
    }
    const count = async (...flags: string[]) =>
      (await run(['users', 'list', ...flags, '--json'])).json<{ users: object[] }>().users.length;
    const out = join(folder, 'out');
    expect((await run(['export', '--study', 'sunny', '--subgroup', 'west', '--out', out])).code).toBe(0);
    expect(await readdir(out)).toHaveLength(3);
    expect([
      await count(),
      await count('--study', 'sunny'),
      await count('--study', 'sunny', '--subgroup', 'west'),
    ]).toEqual([5, 4, 3]);
  });

  it('that do not exist are refused by every command that selects by them, and so are their subgroups', async () => {
    const { run, folder, refuse } = await freshProgram();
    await run(['study', 'create', 'sunny', '--subgroup', 'west', '--subgroup', 'east']);
    const selects = [['users', 'list'], ['purge-keys'], ['export', '--out', join(folder, 'out')]];
    for (const command of selects) {
      await refuse([...command, '--study', 'rainy'], 'no study "rainy"');
      const north = [...command, '--study', 'sunny', '--subgroup', 'north'];
      await refuse(north, 'expected --subgroup west or east for sunny, found north');
    }
    await refuse(['erase', '--subgroup', 'west', '--user', 'ada', '--yes'], "cannot be used with option '--user");
    await refuse(
      ['export', '--study', 'sunny', '--subgroup', 'west', '--out', join(folder, 'out')],
      'the study sunny, subgroup west has no members',
    );
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
        'its configuration has the earlier subgroups: run mobility study config sunny again\n',
    );
    await run(['study', 'config', 'sunny', '--server', 'https://a.example']);
    const same = await run(['study', 'create', 'sunny', '--subgroup', 'west', '--subgroup', 'east']);
    expect(same.stderr).toBe('the study existed: settings replaced\n');
  });

  it('keep each subgroup that has members', async () => {
    const { run } = await freshProgram();
    const create = (...subgroups: string[]) =>
      run(['study', 'create', 'walk', ...subgroups.flatMap((one) => ['--subgroup', one])]);
    await create('west', 'east', 'north');
    await run(['study', 'tokens', 'walk', '--subgroup', 'east', '--count', '7']);
    const { code, stderr } = await create('west');
    expect([code, stderr]).toEqual([2, expect.stringContaining('found no --subgroup east (7 people)')]);
    // Without --subgroup, the subgroups stay unchanged.
    expect((await create()).stderr).toBe('the study existed: settings replaced\n');
    expect((await create('east')).stderr).toContain('subgroups: west, east, north before, now east');
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
      return JSON.parse(await readFile(join(folder, 'sunny.nrel-op.json'), 'utf8')) as JsonObject;
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
    await refuse(
      ['study', 'config', 'sunny', '--server', 'https://a.example', '--file', texts],
      'survey_info.trip-labels: expected MULTILABEL or ENKETO',
    );
    const command = ['study', 'config', 'sunny', '--server', 'https://a.example'];
    await refuse([...command, '--file', `${texts}.none`], 'cannot read');
    await refuse([...command, '--out', `${texts}/none`], 'cannot write');
  });

  it.each(['old-style', 'empty-texts', 'several-modes'])(
    '%s: a published configuration passes as it is',
    async (name) => {
      const { run } = await freshProgram();
      await run(['study', 'create', 'sunny', '--subgroup', 'default']);
      const file = fileURLToPath(new URL(`../fixtures/studies/${name}.json`, import.meta.url));
      const given = JSON.parse(await readFile(file, 'utf8'));
      const args = ['study', 'config', 'sunny', '--server', 'https://a.example'];
      const first = await run([...args, '--file', file, '--json']);
      expect([first.code, first.json()]).toMatchObject([
        0,
        { ...given, ...changed, ...(given.opcode && { opcode: expect.anything() }) },
      ]);
      // People of a study without `opcode` have tokens of three parts, which the app takes only where there is none.
      expect(Object.hasOwn(first.json(), 'opcode')).toBe(given.opcode !== undefined);
      expect((await run([...args, '--json'])).json()).toEqual(first.json());
    },
  );
});
