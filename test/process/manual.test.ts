// The manual page and the shell completion, which the build makes from the commands.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { isHere } from '../support/needs.ts';

const pathOf = (name: string): string => fileURLToPath(new URL(`../../dist/${name}`, import.meta.url));
const can = (program: string): boolean => spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0;
const hasBash = isHere('bash', can('bash'));
const hasGroff = isHere('groff', can('groff'));

/** What Tab offers after these words; the last one is being written. */
function completed(...words: string[]): string[] {
  const script = `source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _mobility; echo "\${COMPREPLY[@]}"`;
  const args = ['-c', script, pathOf('completion.bash'), ...words];
  const { stdout, stderr } = spawnSync('bash', args, { encoding: 'utf8' });
  expect(stderr).toBe('');
  return stdout.trim().split(' ');
}

it.skipIf(!hasBash)(
  'the completion offers commands, their commands and flags, and takes a value for no command',
  () => {
    expect(completed('mobility', 'exp')).toEqual(['explain', 'export']);
    expect(completed('mobility', 'study', 'cr')).toEqual(['create']);
    expect(completed('mobility', 'export', '--form')).toEqual(['--format']);
    expect(completed('mobility', 'study', 'create', 'sunny', '--lan')).toEqual(['--language']);
    expect(completed('mobility', 'export', '--user', 'study', '--form')).toEqual(['--format']);
  },
);

describe('the manual page', () => {
  const page = readFileSync(pathOf('mobility.1'), 'utf8');

  it('has each command with its flags', () => {
    const texts = ['.SS mobility pipeline\n', '.SS mobility study create <name>\n', '\\-\\-coarse', '.SH EXIT STATUS'];
    for (const text of texts) expect(page).toContain(text);
  });

  it.skipIf(!hasGroff)('is formatted without a warning', () => {
    const args = ['-k', '-man', '-Tutf8', '-ww', pathOf('mobility.1')];
    const { stderr, stdout } = spawnSync('groff', args, { encoding: 'utf8' });
    expect([stderr, stdout]).toEqual(['', expect.stringContaining('mobility')]);
  });
});
