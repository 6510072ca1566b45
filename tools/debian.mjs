// Unpacks Debian's nginx, Caddy and promtool into `.debian`, without installing them: test/process/deploy.test.ts runs the samples in
// them, test/process/server/prometheus.test.ts checks metrics and alerts. Where they cannot be downloaded, it says why and succeeds:
// these tests are then skipped.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Versions of Debian 12. `*` accepts security updates, because the archive keeps only the last one. */
const pinned = ['nginx=1.22.1-9*', 'caddy=2.6.2-5*', 'prometheus=2.42.0*'];
/** The programs that tests run, and how each prints its version. */
const programs = { 'usr/sbin/nginx': '-v', 'usr/bin/caddy': 'version', 'usr/bin/promtool': '--version' };
const folder = fileURLToPath(new URL('../.debian', import.meta.url));

/** Runs a command. Returns null if it succeeds, else its output. */
function failure(command, args, cwd) {
  const { status, error, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8' });
  return status === 0 ? null : (error?.message ?? stderr.trim());
}

/** Downloads and unpacks all programs. Returns null, or the reason of a failure. */
function unpack() {
  const packages = mkdtempSync(join(tmpdir(), 'mobility-debian-'));
  try {
    const download = () => failure('apt-get', ['download', '--quiet', ...pinned], packages);
    // Container images come without package lists.
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

/** Returns null if each program prints its version. The programs need libraries of the system. */
function failsToRun() {
  const failures = Object.entries(programs).map(([name, flag]) => failure(join(folder, name), [flag]));
  return failures.find((text) => text !== null) ?? null;
}

const failed = failsToRun() && unpack();
if (failed) rmSync(folder, { recursive: true, force: true });
console.log(
  failed
    ? `!! debian: expected to download ${pinned.join(', ')} with apt-get, as on Debian 12: ${failed}\n!! The tests of the proxy samples, and of metrics and alerts, are skipped.`
    : `debian: nginx, Caddy and promtool are unpacked in ${folder}`,
);
