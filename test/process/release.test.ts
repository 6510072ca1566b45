// The texts that a release changes, and the script, run in a temporary repository.
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, it } from 'vitest';
import { isLater, releasedChangelog, releasedCitation } from '../../tools/release.mjs';
import { tempFolder } from '../support/clean-up.ts';

const encoding = 'utf8';
const project = fileURLToPath(new URL('../..', import.meta.url));
const read = (name: string): string => readFileSync(join(project, name), 'utf8');

describe('a release', () => {
  it('moves the lines under "Unreleased" below a heading with version and date', () => {
    const text = '# Changelog\n\n## [Unreleased]\n\n- Adds trams.\n\n## [0.1.0] - 2026-01-02\n\n- First.\n';
    const released = '# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-03-04\n\n- Adds trams.\n';
    expect(releasedChangelog(text, '0.2.0', '2026-03-04')).toBe(`${released}\n## [0.1.0] - 2026-01-02\n\n- First.\n`);
    expect(() => releasedChangelog(released, '0.3.0', '2026-03-05')).toThrow('expected lines under "Unreleased"');
    expect(releasedChangelog(read('CHANGELOG.md'), '9.9.9', '2026-03-04')).toContain('## [9.9.9] - 2026-03-04\n');
  });

  it('sets version and date of the citation, once each', () => {
    const once = releasedCitation(read('CITATION.cff'), '0.2.0', '2026-03-04');
    const twice = releasedCitation(once, '0.3.0', '2026-05-06');
    expect(twice.match(/^(version|date-released): .*$/gm)).toEqual(['version: 0.3.0', 'date-released: 2026-05-06']);
  });

  it('has a later version of three numbers', () => {
    const later = ['0.1.1', '0.2.0', '1.0.0', '0.10.0'];
    const others = ['0.1.0', '0.0.9', '1.0', '1.0.0-rc.1', 'v1.0.0', ''];
    expect([...later, ...others].filter((one) => isLater(one, '0.1.0'))).toEqual(later);
  });
});

describe('the script of a release', () => {
  let folder: string;
  const git = (...args: string[]): string =>
    execFileSync('git', ['-c', 'user.name=x', '-c', 'user.email=x@example.org', ...args], { cwd: folder, encoding });
  const release = (...args: string[]): string => {
    const command = ['tools/release.mjs', ...args];
    const { stdout, stderr, status } = spawnSync(process.execPath, command, { cwd: folder, encoding });
    return `${status}: ${stdout}${stderr}`;
  };

  beforeEach(() => {
    folder = tempFolder();
    for (const name of ['package.json', 'CHANGELOG.md', 'CITATION.cff', 'tools/release.mjs'])
      cpSync(join(project, name), join(folder, name));
    git('init', '--quiet', '--initial-branch', 'main');
    git('add', '--all');
    git('commit', '--quiet', '--message', 'Begin');
  });

  it('checks everything and changes nothing with --dry-run', () => {
    expect(release('9.9.9', '--dry-run')).toMatch(/^0: [\s\S]*release: 9\.9\.9 can be made\n$/);
    expect(git('status', '--porcelain')).toBe('');
  });

  it('refuses a wrong version, another branch and uncommitted changes, before it changes anything', () => {
    expect(release('0.0.1')).toMatch(/^1: release: expected a version of three numbers after [\d.]+, found 0\.0\.1/);
    git('switch', '--quiet', '--create', 'other');
    expect(release('9.9.9')).toMatch(/^1: release: expected the branch main, found other/);
    cpSync(join(folder, 'CITATION.cff'), join(folder, 'more/file'));
    expect(release('9.9.9')).toMatch(/^1: release: expected no uncommitted changes/);
    expect(git('log', '--oneline').trim().split('\n')).toHaveLength(1);
  });
});
