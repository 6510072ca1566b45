// Makes a release: `node tools/release.mjs VERSION [--dry-run]`. docs/releasing.md has its steps. It pushes nothing.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';

/** The changelog with the lines under "Unreleased" as this version, and an empty "Unreleased" above. */
export function releasedChangelog(text, version, date) {
  const found = /^## \[Unreleased\]\n([\s\S]*?)(?=^## |$(?![\s\S]))/m.exec(text);
  if (found === null) throw new Error('expected a heading "## [Unreleased]" in CHANGELOG.md, found none');
  if (!/^- /m.test(found[1])) throw new Error('expected lines under "Unreleased" in CHANGELOG.md, found none');
  return text.replace('## [Unreleased]\n', `## [Unreleased]\n\n## [${version}] - ${date}\n`);
}

/** CITATION.cff with version and date. */
export function releasedCitation(text, version, date) {
  const dated = text.replace(/^date-released: .*\n/m, '');
  return dated.replace(/^version: .*$/m, `version: ${version}\ndate-released: ${date}`);
}

/** True if `next` has three numbers and comes after `last`. */
export function isLater(next, last) {
  if (!/^\d+\.\d+\.\d+$/.test(next)) return false;
  const [a, b] = [next, last].map((one) => one.split('.').map(Number));
  const at = a.findIndex((number, i) => number !== b[i]);
  return at >= 0 && a[at] > b[at];
}

function fail(message) {
  console.error(`release: ${message}`);
  process.exit(1);
}

const read = (...words) => execFileSync(words[0], words.slice(1), { encoding: 'utf8' }).trim();

function run(...words) {
  console.log(`> ${words.join(' ')}`);
  const { status } = spawnSync(words[0], words.slice(1), { stdio: 'inherit' });
  if (status !== 0) fail(`\`${words.join(' ')}\` ended with ${status}`);
}

function release(version, isDry) {
  const { version: last, private: isPrivate } = JSON.parse(readFileSync('package.json', 'utf8'));
  const tags = read('git', 'tag', '--list', 'v*').split('\n');
  const isFirst = !tags.includes(`v${last}`) && version === last;
  if (!isFirst && !isLater(version ?? '', last))
    fail(`expected a version of three numbers after ${last}, found ${version ?? 'nothing'}`);
  if (read('git', 'status', '--porcelain') !== '') fail('expected no uncommitted changes: commit or stash them');
  const branch = read('git', 'branch', '--show-current');
  if (branch !== 'main') fail(`expected the branch main, found ${branch || 'none'}: switch to it`);
  const date = new Date().toISOString().slice(0, 10);
  const changelog = releasedChangelog(readFileSync('CHANGELOG.md', 'utf8'), version, date);
  const citation = releasedCitation(readFileSync('CITATION.cff', 'utf8'), version, date);
  if (isPrivate) console.log('release: package.json is private: npm will refuse to publish it (docs/releasing.md)');
  if (isDry) return console.log(`release: ${version} can be made`);

  writeFileSync('CHANGELOG.md', changelog);
  writeFileSync('CITATION.cff', citation);
  run('npm', 'version', version, '--no-git-tag-version', '--allow-same-version');
  run('bash', '.ci/run');
  run('git', 'commit', '--all', '--message', `Release ${version}`);
  run('git', 'tag', '--annotate', `v${version}`, '--message', `mobility ${version}`);
  mkdirSync('release', { recursive: true });
  run('npm', 'pack', '--pack-destination', 'release');
  writeFileSync(
    `release/mobility-${version}.cdx.json`,
    read('npm', 'sbom', '--package-lock-only', '--omit=dev', '--sbom-format', 'cyclonedx'),
  );
  const builder = ['docker', 'podman'].find((name) => spawnSync(name, ['info']).status === 0);
  if (builder === undefined) console.log('release: no image: neither docker nor podman runs here');
  else run(builder, 'build', '--file', 'examples/deploy/Dockerfile', '--tag', `mobility:${version}`, '.');
  console.log(`release: look at release/, then: git push origin main v${version}`);
}

if (process.argv[1] === import.meta.filename) {
  process.chdir(new URL('..', import.meta.url).pathname);
  const [version, ...flags] = process.argv.slice(2);
  if (flags.some((flag) => flag !== '--dry-run')) fail(`expected VERSION [--dry-run], found ${flags.join(' ')}`);
  try {
    release(version, flags.length > 0);
  } catch (error) {
    fail(error.message);
  }
}
