// Writes the blocks of docs/cli.md from the commands: `npm run docs`. Text between the blocks is written by hand and is
// not changed. `--check` changes nothing and fails if the page is out of date.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const path = fileURLToPath(new URL('../docs/cli.md', import.meta.url));

/** Flags that select users. They are the same in every command, so the page explains them once. */
const common = ['--user', '--study', '--subgroup', '--all'];

/** The page with new blocks. Throws if a command has no block, or a block no command. */
export function cliPage(text, program) {
  const commands = new Map(commandsIn(program).map((command) => [command.name, command]));
  const explained = new Set();
  const seen = [];
  const page = text.replace(/<!--(mobility.*?)-->[\s\S]*?<!--end-->/g, (old, name) => {
    seen.push(name);
    const command = commands.get(name);
    return command === undefined ? old : block(command, explained);
  });
  const missing = [...commands.keys()].filter((name) => !seen.includes(name));
  const extra = seen.filter((name) => !commands.has(name));
  if (missing.length + extra.length > 0) {
    const list = [...missing.map((name) => `no block for ${name}`), ...extra.map((name) => `no command ${name}`)];
    throw new Error(`docs/cli.md: ${list.join(', ')}: add or remove "<!--NAME-->" and "<!--end-->"`);
  }
  return page;
}

function commandsIn(command, path = []) {
  const own = [...path, command.name()];
  const children = command.commands.filter((child) => child.name() !== 'help');
  return [{ name: own.join(' '), depth: own.length, command }, ...children.flatMap((child) => commandsIn(child, own))];
}

/**
 * Heading, sentence and flags of a command. A flag that an earlier command explains with the same words is only named.
 */
function block({ name, depth, command }, explained) {
  const args = command.registeredArguments.map((argument) => ` <${argument.name()}>`).join('');
  const all = command.options.filter((option) => !option.hidden);
  const chooseUsers = all.some(({ long }) => long === '--all') || all.some(({ long }) => long === '--file');
  const users = all.filter(({ long }) => chooseUsers && common.includes(long));
  const flags = all.filter((option) => !users.includes(option));
  const isKnown = (option) => explained.has(wordsOf(option));
  const known = flags.filter(isKnown);
  const rows = flags.filter((option) => !isKnown(option)).map((option) => `- ${wordsOf(option)}`);
  for (const option of flags) explained.add(wordsOf(option));
  const description = command.description();
  const parts = [
    depth === 1 ? '## Flags of every command' : `${'#'.repeat(depth)} ${name}${args}`,
    ...(depth === 1 || description === '' ? [] : [`${description[0].toUpperCase()}${description.slice(1)}.`]),
    ...(users.length > 0 ? [`[Users](#users-days-and-times): ${names(users)}.`] : []),
    ...(rows.length > 0 ? [rows.join('\n')] : []),
    ...(known.length > 0 ? [`As above: ${names(known)}.`] : []),
  ];
  return `<!--${name}-->\n${parts.join('\n\n')}\n<!--end-->`;
}

const wordsOf = ({ flags, description }) => `\`${flags}\`: ${description}`;
const names = (options) => options.map(({ flags }) => `\`${flags}\``).join(', ');

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { buildProgram } = await import('../dist/cli/main.js');
  const { CommandContext } = await import('../dist/cli/context.js');
  const streams = { stdout: { write: () => true }, stderr: { write: () => true } };
  const surroundings = { ...streams, env: {}, stdin: process.stdin, now: () => 0, zone: 'UTC' };
  const text = readFileSync(path, 'utf8');
  const page = cliPage(text, await buildProgram(new CommandContext(surroundings), streams));
  if (process.argv.includes('--check')) process.exitCode = page === text ? 0 : 1;
  else writeFileSync(path, page);
}
