// Unpacks Debian's nginx and Caddy into `.debian`, without installing them; test/deploy.test.ts runs the samples in
// them. Where they cannot be downloaded, it says why and succeeds: these tests are then skipped.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Versions of Debian 12; `*` takes its security updates, since the archive keeps only the last of them. */
const pinned = ['nginx=1.22.1-9*', 'caddy=2.6.2-5*'];
const programs = ['usr/sbin/nginx', 'usr/bin/caddy'];
const folder = fileURLToPath(new URL('../.debian', import.meta.url));

/** Runs a command; null if it succeeds, otherwise what it says. */
function failure(command, args, cwd) {
  const { status, error, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8' });
  return status === 0 ? null : (error?.message ?? stderr.trim());
}

/** Downloads and unpacks all programs; null, or why that failed. */
function unpack() {
  const packages = mkdtempSync(join(tmpdir(), 'mobility-debian-'));
  try {
    const download = () => failure('apt-get', ['download', '--quiet', ...pinned], packages);
    // A container image has no lists of packages until they are fetched.
    const failed = download() && (failure('apt-get', ['update', '--quiet']) ?? download());
    if (failed) return failed;
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder);
    const unpacked = readdirSync(packages).map((name) => failure('dpkg-deb', ['-x', join(packages, name), folder]));
    return unpacked.find((text) => text !== null) ?? failsToRun();
  } finally {
    rmSync(packages, { recursive: true, force: true });
  }
}

/** Null if each program prints its version; they need libraries of the system. */
const failsToRun = () => failure(join(folder, programs[0]), ['-v']) ?? failure(join(folder, programs[1]), ['version']);

const failed = failsToRun() && unpack();
if (failed) rmSync(folder, { recursive: true, force: true });
console.log(
  failed
    ? `!! debian: expected to download ${pinned.join(' and ')} with apt-get, as on Debian 12: ${failed}\n!! The tests of the proxy samples are skipped.`
    : `debian: nginx and Caddy are unpacked in ${folder}`,
);
