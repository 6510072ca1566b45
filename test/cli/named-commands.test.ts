// Commands named in messages, help texts and the manual exist, with their flags.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import { expect, it } from 'vitest';
import { commandTree } from './kit.ts';

const project = fileURLToPath(new URL('../..', import.meta.url));

/** The program as it is, but that its commands do nothing. */
async function idleProgram(): Promise<CommandUnknownOpts> {
  const program = await commandTree();
  const idle = (command: CommandUnknownOpts): void => {
    if (command.commands.length === 0) command.action(() => {});
    command.commands.forEach(idle);
  };
  idle(program);
  return program;
}

/** Words of a command line, without what the shell takes; `${…}` and NAME are words like others. */
const wordsOf = (line: string): string[] =>
  (
    line
      .replace(/ +([|>#(]|&& ).*| < .*/, '')
      .replace(/\$\([^)]*\)/g, 'VALUE')
      .match(/'[^']*'|\$\{[^}]*\}|\S+/g) ?? []
  ).map((word) => word.replace(/^'(.*)'$/, '$1'));

/** What a command does without a subcommand. */
const defaults: Record<string, string> = { logs: 'calls', errors: 'list' };

/** What is wrong with words behind `mobility`, where they only name a command and some of its flags. */
function unknownIn(program: CommandUnknownOpts, words: readonly string[]): string | null {
  let command = program;
  const flags = new Map([...program.options, new Option('--help')].map((option) => [option.long, option]));
  for (let i = 0; i < words.length; i++) {
    const word = words[i]!;
    if (word.startsWith('-')) {
      const option = flags.get(word);
      if (option === undefined) return `${command.name()} has no flag ${word}`;
      if (option.required) i += 1;
      continue;
    }
    const child = command.commands.find((one) => one.name() === word);
    if (child === undefined && (command.commands.length > 0 || command.registeredArguments.length === 0)) {
      return `${command.name()} takes no word ${word}`;
    }
    if (child === undefined) continue;
    command = child;
    const meant = child.commands.find((one) => one.name() === defaults[child.name()]);
    for (const option of [...child.options, ...(meant?.options ?? [])]) flags.set(option.long, option);
  }
  return null;
}

function filesIn(folder: string, ending: string): string[] {
  const names = readdirSync(join(project, folder), { recursive: true, encoding: 'utf8' });
  return names.filter((name) => name.endsWith(ending)).map((name) => join(folder, name));
}

/** Command lines of a text, each with its place: `quoted` within a sentence, or on a separate line. */
function namedIn(file: string, how: 'quoted' | 'lines'): { place: string; words: string[] }[] {
  const pattern = how === 'quoted' ? /\\?`mobility ([a-z][^`\\]*)\\?`/g : /^ *mobility ([a-z][^`\n]*)/gm;
  const text = readFileSync(join(project, file), 'utf8');
  return [...text.matchAll(pattern)]
    .filter((match) => !match[1]!.startsWith('listens on'))
    .map((match) => ({ place: `${file}: mobility ${match[1]}`, words: wordsOf(match[1]!) }));
}

it('commands and flags that messages, comments and the manual name exist', async () => {
  const program = await idleProgram();
  const files = [...filesIn('src', '.ts'), ...filesIn('docs', '.md'), 'README.md', 'CONTRIBUTING.md', 'SECURITY.md'];
  const named = files.flatMap((file) => namedIn(file, 'quoted'));
  expect(named.length).toBeGreaterThan(50);
  const wrong = named.flatMap(({ place, words }) => {
    const why = unknownIn(program, words);
    return why === null ? [] : [`${place}: ${why}`];
  });
  expect(wrong).toEqual([]);
});

it('command lines of help texts and of the manual parse as they are', async () => {
  const files = [...filesIn('src/cli', '.ts'), ...filesIn('docs', '.md'), 'README.md'];
  const named = files.flatMap((file) => namedIn(file, 'lines'));
  expect(named.length).toBeGreaterThan(80);
  const wrong: string[] = [];
  const program = await idleProgram();
  for (const { place, words } of named) {
    await program.parseAsync(words, { from: 'user' }).catch((error: Error) => wrong.push(`${place}: ${error.message}`));
  }
  expect(wrong).toEqual([]);
});
