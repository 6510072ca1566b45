// Writes the manual page and the shell completion from the commands: dist/mobility.1 and dist/completion.bash (zsh
// reads it with bashcompinit).
import { writeFileSync } from 'node:fs';

/** The commands below `command`, itself first, with their words: `study create`. */
export function commandsIn(command, path = []) {
  const children = command.commands.filter((child) => child.name() !== 'help');
  return [{ words: path, command }, ...children.flatMap((child) => commandsIn(child, [...path, child.name()]))];
}

const flagsOf = (command) => command.options.filter((option) => !option.hidden);

/** Escapes a text for roff: backslashes, and points and quotes at the start of a line. */
const roff = (text) =>
  text
    .replace(/\\/g, '\\e')
    .replace(/-/g, '\\-')
    .replace(/^(?=[.'])/gm, '\\&');
const entry = (name, text) => `.TP\n.B ${roff(name)}\n${roff(text)}\n`;

/** The page in man(7). */
export function manPage(program, version) {
  const [top, ...commands] = commandsIn(program);
  const sections = commands
    .filter(({ command }) => command.commands.length === 0)
    .map(({ words, command }) => {
      const args = command.registeredArguments.map((argument) => ` <${argument.name()}>`).join('');
      const flags = flagsOf(command).map((option) => entry(option.flags, option.description));
      return `.SS ${roff(`mobility ${words.join(' ')}${args}`)}\n${roff(command.description())}\n${flags.join('')}`;
    });
  const global = flagsOf(top.command).map((option) => entry(option.flags, option.description));
  return `.TH MOBILITY 1 "" "mobility ${version}" "User Commands"
.SH NAME
mobility \\- self\\-hosted mobility data service
.SH SYNOPSIS
.B mobility
.I COMMAND
[flags]
.SH DESCRIPTION
${roff(program.description() || 'Phones push what they sense; the pipeline makes a diary of trips.')}
.SH FLAGS OF EVERY COMMAND
${global.join('')}.SH COMMANDS
${sections.join('')}.SH EXIT STATUS
0: done. 1: failed. 2: wrong use. 3: done in part, or a check found a problem. 130: interrupted.
`;
}

/** The completion of commands and flags. The shell completes values and files. */
export function completion(program) {
  const cases = commandsIn(program).map(({ words, command }) => {
    const names = command.commands.map((child) => child.name());
    const flags = [...flagsOf(command), ...flagsOf(program)].map(({ long }) => long);
    return `    '${words.join(' ')}') words='${[...new Set([...names, ...flags])].join(' ')}' ;;`;
  });
  const known = commandsIn(program).slice(1);
  const names = known.map(({ words }) => `'${words.join(' ')}'`).join('|');
  return `# Completion of mobility for bash; for zsh, first: autoload -U bashcompinit && bashcompinit
_mobility() {
  local at='' word words=''
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "\${at:+$at }$word" in ${names}) at="\${at:+$at }$word" ;; esac
  done
  case $at in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _mobility mobility
`;
}

if (process.argv[1] === import.meta.filename) {
  const { buildProgram } = await import('../dist/cli/main.js');
  const { CommandContext } = await import('../dist/cli/context.js');
  const { packageVersion } = await import('../dist/util/program-version.js');
  const streams = { stdout: { write: () => true }, stderr: { write: () => true } };
  const surroundings = { ...streams, env: {}, stdin: process.stdin, now: () => 0, zone: 'UTC' };
  const program = await buildProgram(new CommandContext(surroundings), streams);
  writeFileSync(new URL('../dist/mobility.1', import.meta.url), manPage(program, packageVersion()));
  writeFileSync(new URL('../dist/completion.bash', import.meta.url), completion(program));
}
