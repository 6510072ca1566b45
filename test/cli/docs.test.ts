// docs/cli.md and docs/configuration.md agree with the program.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { audited } from '../../src/cli/audit-action.ts';
import { settings } from '../../src/config.ts';
import { cliPage } from '../../tools/cli-docs.js';
import { commandsIn } from '../../tools/manual.js';
import { commandTree, freshProgram, tempFolder } from './kit.ts';

const page = (name: string): string => readFileSync(new URL(`../../docs/${name}.md`, import.meta.url), 'utf8');

it('docs/cli.md has the help of every command: `npm run docs` writes it', async () => {
  expect(cliPage(page('cli'), await commandTree())).toBe(page('cli'));
});

it('docs/cli.md has the fields that commands print with --json', async () => {
  const { json } = await freshProgram();
  const ofDay = '--user sim-t-1@example.org --day 2024-03-12';
  const lines = `simulate --users 1 --from 2024-03-12 --seed t;pipeline --all;users add ada;users list;config
    days --user sim-t-1@example.org;diary ${ofDay};explain ${ofDay};purge-keys --all;recover-errors --all
    rebuild --all --dry-run;report --from 2024-03;status;study list;users tokens ada;audit`.split(/;|\n */);
  const rows = [...page('cli').matchAll(/^\| `([a-z -]+)` \| (`[a-z_]+`(?:,| \[|\]? \|).*)$/gm)];
  const documented = new Map(rows.map(([, name, fields]) => [name, fields!]));
  for (const line of lines) {
    const shown: Record<string, object | object[]> = await json(line);
    const name = [...documented.keys()].sort().findLast((one) => line.startsWith(one!));
    const fields = documented.get(name);
    expect([line, fields]).toEqual([line, expect.any(String)]);
    const own = fields!.replace(/ \[.*?\]/g, '').match(/[a-z_]+/g);
    expect([name, Object.keys(shown).sort()]).toEqual([name, own?.sort()]);
    for (const [, list, inner] of fields!.matchAll(/`([a-z_]+)` \[(.*?)\]/g)) {
      const [first] = shown[list!] as object[];
      const documentedInner = expect.arrayContaining(inner!.match(/[a-z_]+/g)!);
      expect(Object.keys(first!), `${name} ${list}`).toEqual(documentedInner);
    }
  }
});

it('the daily cleaning of docs/operations.md removes old daily backups, and none made before an upgrade', async () => {
  const text = page('operations');
  const folder = tempFolder();
  const shell = (line: string) => execFileSync('sh', ['-c', line.replaceAll('/var/backups/mobility', folder)]);
  const daily = /^17 3 .*? backup (\S+ \S+)/m.exec(text)![1]!.replace('\\%', '%');
  const upgrade = /^mobility backup (.+before-upgrade)$/m.exec(text)![1];
  shell(`mkdir ${daily} ${upgrade}; touch -d '20 days ago' ${folder}/*`);
  expect(await readdir(folder)).toHaveLength(2);
  shell(/find \/var\/backups.*$/m.exec(text)![0]);
  expect(await readdir(folder)).toEqual([expect.stringMatching(/^\d{4}-\d\d-\d\dT\d{4}-before-upgrade$/)]);
});

it('docs/configuration.md has a row for every setting, in order', () => {
  const rows = settings.map(
    ({ variable, default: preset, meaning }) =>
      `| \`${variable}\` | ${preset === '' ? '' : `\`${preset}\``} | ${meaning} |`,
  );
  expect(page('configuration').match(/^\| `MOBILITY.*$/gm)).toEqual(rows);
});

/** They show, change or hand out no data of people: the audit log does not have them. */
const unaudited = new Set(
  `audit, config, days, doctor, errors list, evaluate, logs calls, logs errors, logs put, managers list,
pipeline, report, serve, simulate, status, store init, study close, study link, study list, study open, study show,
transit add, transit check, transit list, transit remove, transit save, users list, users tokens`.split(/,\s/),
);

it('each command is in the audit log or in the list of those without data of people', async () => {
  const names = commandsIn(await commandTree())
    .filter(({ command }) => command.commands.length === 0)
    .map(({ words }) => words.join(' '));
  const undecided = names.filter((name) => audited.has(name) === unaudited.has(name));
  expect(undecided, 'name each in `audited` of src/cli/audit-action.ts or in `unaudited`').toEqual([]);
});
