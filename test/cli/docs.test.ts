// docs/cli.md and docs/configuration.md say what the program says.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import type { Command } from 'commander';
import { expect, it } from 'vitest';
import { createContext } from '../../src/cli/context.ts';
import { buildProgram } from '../../src/cli/main.ts';
import { settings } from '../../src/config.ts';
import { tempFolder } from './kit.ts';

const page = (name: string): string => readFileSync(new URL(`../../docs/${name}.md`, import.meta.url), 'utf8');

function program(): Promise<Command> {
  const streams = { stdout: { write: () => true }, stderr: { write: () => true } };
  return buildProgram(createContext({ ...streams, env: {}, stdin: process.stdin, now: () => 0, zone: 'UTC' }), streams);
}

/** The heading and the table of flags of every command and subcommand. */
function sections(command: Command, path: readonly string[] = []): { heading: string; rows: string[] }[] {
  const here = [...path, command.name()];
  const parameters = command.registeredArguments.map((argument) => ` <${argument.name()}>`).join('');
  const visible = command.options.filter((option) => !option.hidden);
  const rows = visible.map(({ flags, description }) => `| \`${flags}\` | ${description} |`);
  const own = { heading: `${here.join(' ')}${parameters}`, rows };
  return [own, ...command.commands.flatMap((child) => sections(child, here))];
}

it('docs/cli.md has a section for every command with all of its flags, and for no others', async () => {
  const text = page('cli');
  const expected = sections(await program());
  for (const { heading, rows } of expected) {
    const level = heading.split(' ').filter((word) => !word.startsWith('<')).length === 3 ? '###' : '##';
    const title = heading === 'mobility' ? '## Flags of every command' : `${level} ${heading}`;
    const start = text.indexOf(`\n${title}\n`);
    expect([title, start > 0]).toEqual([title, true]);
    const next = text.slice(start + 1).search(/\n##/);
    const section = text.slice(start, next < 0 ? undefined : start + 1 + next);
    expect([title, section.match(/^\| `-.*$/gm) ?? []]).toEqual([title, rows]);
  }
  expect(text.match(/^##+ mobility .*$/gm)!.length).toBe(expected.length - 1);
});

it('the daily cleaning of docs/operations.md removes old daily backups, and none made before an upgrade', async () => {
  const text = page('operations');
  const folder = await tempFolder();
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
