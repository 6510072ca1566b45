// The built program as a process: pipes that close, Ctrl-C, several workers.

import { execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, readFile, rename, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { AllReport } from '../../../src/pipeline/run-all.ts';
import { openStore } from '../../../src/store/open.ts';
import type { Store } from '../../../src/store/store.ts';
import { freshProgram, tempFolder } from '../../cli/kit.ts';
import { run, start, startServer } from '../../faults/program.ts';
import { buildProgram } from '../../support/build.ts';
import { isHere } from '../../support/needs.ts';
import { until } from '../../support/until.ts';

let program: string;
beforeAll(async () => {
  program = join(await buildProgram(), 'bin', 'mobility.js');
});

const simulated = async (users: number) => {
  const fresh = await freshProgram();
  await fresh.run(['simulate', '--users', String(users), '--days', '2', '--from', '2024-03-12', '--seed', 'p']);
  return fresh;
};

it('the program exits with 0 and without a message when the reader of its output closes the pipe', async () => {
  const { address } = await simulated(1);
  const line = `"$0" "$1" export --user sim-p-1@example.org --entries --store "$2" | head -n 2 | wc -l; echo "\${PIPESTATUS[0]}"`;
  const { stdout, stderr } = await promisify(execFile)('bash', ['-c', line, process.execPath, program, address]);
  expect([stdout.trim().split(/\s+/), stderr]).toEqual([['2', '0'], '']);
});

it('a host whose TZ is not the name of a zone gets times in UTC', async () => {
  const { address } = await freshProgram();
  const on = (...args: string[]) => run([...args, '--store', address], { env: { TZ: 'Nowhere/Town' } });
  expect((await on('simulate', '--users', '1', '--days', '1')).code).toBe(0);
  for (const args of [['pipeline', '--all'], ['status'], ['logs', '--since', '1h']]) {
    const { code, stderr } = await on(...args);
    expect([args, code, stderr]).toEqual([args, 0, expect.not.stringContaining('mobility:')]);
  }
});

/** Runs a command with the given redirections of a shell. */
const redirected = (redirections: string) => ({ through: ['bash', '-c', `exec "$@" ${redirections}`, 'bash'] });

describe.skipIf(!isHere('/dev/full', existsSync('/dev/full')))('a full disk', () => {
  it('on standard output ends a command, help and --version with exit code 1 and one line', async () => {
    const { address } = await simulated(1);
    const toFull = redirected('>/dev/full');
    const user = ['--user', 'sim-p-1@example.org'];
    for (const args of [['status'], ['status', '--json'], ['export', ...user, '--entries'], ['--help'], ['-V']]) {
      const { code, stderr } = await run([...args, '--store', address], toFull);
      expect([args, code, stderr]).toEqual([
        args,
        1,
        expect.stringMatching(
          args.includes('--json')
            ? /^\{"error":\{"code":"MOBILITY_OUTPUT","message":"cannot write to standard output: ENOSPC[^\n]*\n$/
            : /^mobility: MOBILITY_OUTPUT: cannot write to standard output: ENOSPC[^\n]*\n$/,
        ),
      ]);
    }
  });

  it('on standard output moves the receipt of an erasure to standard error', async () => {
    const { address } = await simulated(1);
    const args = ['erase', '--user', 'sim-p-1@example.org', '--yes', '--json', '--store', address];
    const { code, stderr } = await run(args, redirected('>/dev/full'));
    const [receipt, failure] = stderr.split('\n{"error":');
    const [user] = (JSON.parse(receipt!) as { users: object[] }).users;
    expect(user).toMatchObject({ user_email: 'sim-p-1@example.org', remaining: { timeseries: 0 } });
    expect([code, failure]).toEqual([
      1,
      expect.stringMatching(/"MOBILITY_OUTPUT","message":"the users are erased, and the receipt/),
    ]);
  });

  it('on standard output revokes new tokens that were not shown, and keeps the replaced ones valid', async () => {
    const { address } = await simulated(1);
    const ada = 'sim-p-1@example.org';
    const on = (args: string[], how = {}) => run([...args, '--store', address], how);
    await on(['users', 'token', ada]);
    await on(['study', 'create', 'sunny', '--list']);
    for (const made of [
      ['users', 'token', ada, '--replace'],
      ['study', 'tokens', 'sunny', '--count', '2'],
    ]) {
      const { code, stderr } = await on(made, redirected('>/dev/full'));
      expect([code, stderr]).toEqual([
        1,
        expect.stringMatching(/^mobility: MOBILITY_OUTPUT: .* revoked, since they were not shown/),
      ]);
    }
    const members = JSON.parse((await on(['users', 'list', '--study', 'sunny', '--json'])).stdout).users as {
      user_id: string;
    }[];
    expect(members).toHaveLength(2);
    for (const [user, valid] of [[ada, 1], ...members.map(({ user_id }) => [user_id, 0])] as [string, number][]) {
      const tokens = JSON.parse((await on(['users', 'tokens', user, '--json'])).stdout).tokens as {
        revoked_ts?: number;
      }[];
      expect(tokens.filter(({ revoked_ts }) => revoked_ts === undefined)).toHaveLength(valid);
    }
  });

  it('on standard output leaves the complete tables of an export', async () => {
    const { address, folder } = await simulated(1);
    const out = join(folder, 'out');
    const args = ['export', '--all', '--format', 'csv', '--kind', 'entries', '--out', out, '--store', address];
    expect((await run(args, redirected('>/dev/full'))).code).toBe(1);
    expect((await readdir(out)).sort()).toEqual(['codebook.html', 'datapackage.json', 'entries.csv']);
  });

  it('on standard error loses only notes', async () => {
    const { address } = await freshProgram();
    const args = ['simulate', '--users', '1', '--days', '2', '--from', '2024-03-12', '--store', address];
    const { code, stdout } = await run(args, redirected('2>/dev/full'));
    expect([code, stdout]).toEqual([0, expect.stringContaining('sim-demo-1@example.org')]);
  });

  it('on standard output of a server loses log lines but no call, and each process reports it once', async () => {
    const folder = tempFolder();
    const store = join(folder, 'store');
    const server = await startServer(store, { env: { MOBILITY_WORKERS: '2' }, ...redirected('>/dev/full') });
    for (let i = 0; i < 30; i += 1) expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
    const { code, stderr } = await server.stop();
    const [first, ...notes] = stderr.trimEnd().split('\n');
    expect([code, first]).toEqual([0, expect.stringContaining('listens on')]);
    expect([1, 2]).toContain(notes.length); // as many as workers got calls
    for (const note of notes) {
      expect(note).toMatch(/^mobility: lines of standard output have been dropped since \S+: ENOSPC: /);
    }
    const { stdout } = await run(['logs', 'errors', '--json', '--store', store]);
    const counts = [...stdout.matchAll(/Lines of standard output dropped = (\d+) since/g)];
    expect(sumOf(counts.map(([, count]) => Number(count)))).toBe(60);
  });
});

/** True if the limit of file sizes can be set for a command. */
const canLimit = isHere('prlimit', spawnSync('prlimit', ['--fsize=65536:', 'true']).status === 0);

describe.skipIf(!canLimit)('standard output in a file with a small size limit', () => {
  const most = 64 * 1024 * 1024; // bytes: more than any other file here has

  /** Has room for so many bytes. */
  const fileWith = async (room: number): Promise<{ file: string; through: string[] }> => {
    const file = join(tempFolder(), 'output');
    await writeFile(file, '');
    await truncate(file, most - room);
    return { file, through: ['prlimit', `--fsize=${most}:`, ...redirected(`>>${file}`).through] };
  };
  const written = async (file: string): Promise<string> => (await readFile(file)).subarray(most - 20).toString();

  it('gets a part of the result, and the command fails', async () => {
    const { file, through } = await fileWith(20);
    const { code, stderr } = await run(['config', '--json'], { through });
    expect(await written(file)).toMatch(/^\{\n {2}"settings": \[\n/);
    expect([code, stderr]).toEqual([1, expect.stringContaining('cannot write to standard output')]);
  });

  it('loses lines of a server until there is space, the log counts them, and the next line is whole', async () => {
    const { file, through } = await fileWith(20);
    const store = join(tempFolder(), 'store');
    const server = await startServer(store, { through });
    for (let i = 0; i < 2; i += 1) expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
    await promisify(execFile)('prlimit', ['--pid', String(server.pid), '--fsize=unlimited']);
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
    await server.stop();
    expect(await written(file)).toMatch(/^START 20\S{12}\nSTART \S+ GET \/readyz\nEND \S+ GET \/readyz \S+\n$/);
    const { stdout } = await run(['logs', 'errors', '--json', '--store', store]);
    expect(stdout).toMatch(/Lines of standard output dropped = 4 since \S+: EFBIG/);
  });
});

async function storeAt(address: string): Promise<Store> {
  const store = await openStore(address);
  onTestFinished(() => store.close());
  return store;
}

/** The process that holds a lease on one of the users: it is at work. */
async function workerAt(store: Store): Promise<number> {
  const users = await store.users.list({ limit: 100 });
  for (;;) {
    for (const { uuid } of users) {
      const owner = (await store.leases.get(uuid))?.owner;
      if (owner !== undefined) return Number(/ (\d+) on/.exec(owner)?.[1]);
    }
    await pause(5); // a look at a time: the program that is waited for needs the processor
  }
}

it('Ctrl-C ends a pipeline run with 130 before the last user, and the next run does not wait for a lease', async () => {
  const { address } = await simulated(12);
  const store = await storeAt(address);
  const running = await start(['pipeline', '--all', '--json', '--store', address]);
  process.kill(await workerAt(store), 'SIGINT');
  const { code, stdout } = await running.exit;
  const { done } = JSON.parse(stdout) as AllReport;
  expect(code).toBe(130);
  expect(done).toBeGreaterThan(0);
  expect(done).toBeLessThan(12);
  const next = await run(['pipeline', '--all', '--json', '--store', address]);
  const report = JSON.parse(next.stdout) as AllReport;
  expect([next.code, report.busy, report.failed, report.done + done]).toEqual([0, 0, 0, 12]);
});

it('Ctrl-C ends an erasure with a receipt of the erased users, and the same command erases the others', async () => {
  const { address, folder } = await simulated(1);
  const store = await storeAt(address);
  const names = Array.from({ length: 300 }, (_, i) => `person-${i}`);
  for (const name of names) await store.users.register(name, { now: 1 });
  const file = join(folder, 'names.txt');
  await writeFile(file, names.join('\n'));
  const line = ['erase', '--file', file, '--yes', '--json', '--store', address];
  const erasing = await start(line);
  await until(async () => (await store.unfinished()).length > 0);
  process.kill(erasing.pid, 'SIGINT');
  const first = await erasing.exit;
  const erased = (JSON.parse(first.stdout) as { users: object[] }).users.length;
  expect(first.code).toBe(130);
  expect(erased).toBeGreaterThan(0);
  expect(erased).toBeLessThan(300);
  expect(first.stderr).toContain(`interrupted: ${300 - erased} users not erased; repeat the command`);
  const next = await run(line);
  expect([next.code, next.stderr]).toEqual([0, expect.not.stringContaining('interrupted')]);
  expect((await store.users.list({ limit: 10 })).map(({ user_email }) => user_email)).toEqual(['sim-p-1@example.org']);
});

it('Ctrl-C releases the lease on the user that is being processed', async () => {
  const { address } = await simulated(1);
  const store = await storeAt(address);
  const rebuild = await start(['rebuild', '--user', 'sim-p-1@example.org', '--store', address]);
  process.kill(await workerAt(store), 'SIGINT');
  await rebuild.exit;
  const next = await run(['pipeline', '--user', 'sim-p-1@example.org', '--store', address]);
  expect([next.code, next.stdout]).toEqual([0, expect.stringMatching(/done in|nothing new/)]);
});

/** An export that is killed when two of its people are finished. */
async function killedExport() {
  const fresh = await simulated(12);
  const out = join(fresh.folder, 'out');
  const line = (to: string, ...more: string[]) => {
    const kinds = ['places', 'people', 'entries'].flatMap((kind) => ['--kind', kind]);
    return ['export', '--all', '--format', 'parquet', ...kinds, ...more, '--out', to, '--store', fresh.address];
  };
  const finished = async () =>
    (await readdir(join(out, '.parts')).catch(() => []))
      .filter((name) => /^[0-9a-f]{32}$/.test(name))
      .map((name) => join(out, '.parts', name));
  const killed = await start(line(out, '--workers', '2'));
  await until(async () => (await finished()).length > 1);
  expect((await killed.kill()).signal).toBe('SIGKILL');
  expect(await readdir(out)).toEqual(['.parts']);
  return { ...fresh, out, line, finished };
}

/** The checksums of the tables of an export. */
const sumsIn = async (out: string): Promise<string[]> =>
  JSON.parse(await readFile(join(out, 'datapackage.json'), 'utf8')).resources.map(({ hash }: { hash: string }) => hash);

it('a killed export leaves no file under its final name, and the same command continues it', async () => {
  const { out, folder, line } = await killedExport();
  const again = await run(line(out));
  expect([again.code, again.stderr]).toEqual([0, expect.stringMatching(/^\d+ users taken over from an export/)]);
  expect((await readdir(out)).sort()).toEqual(
    ['codebook.html', 'datapackage.json', 'entries.parquet', 'people.parquet', 'places.parquet'].sort(),
  );
  const whole = join(folder, 'whole');
  expect((await run(line(whole, '--workers', '3'))).code).toBe(0);
  expect(await sumsIn(out)).toEqual(await sumsIn(whole));
});

it('an export that continues has the users of now, and reads users again after a day', async () => {
  const { out, folder, line, finished, run: inProcess } = await killedExport();
  expect((await inProcess(['erase', '--user', 'sim-p-1@example.org', '--yes'])).code).toBe(0);
  expect((await inProcess(['users', 'add', 'late@example.org'])).code).toBe(0);
  for (const path of await finished()) await utimes(path, 1_700_000_000, 1_700_000_000);
  const [again, whole] = [await run(line(out, '--workers', '2')), await run(line(join(folder, 'whole')))];
  expect([again.code, again.stderr, whole.code]).toEqual([0, '', 0]);
  expect(await sumsIn(out)).toEqual(await sumsIn(join(folder, 'whole')));
});

it('several processes write the bytes of one, also in the order of pseudonyms', async () => {
  const { address, folder } = await simulated(4);
  expect((await run(['pipeline', '--all', '--store', address])).code).toBe(0);
  const key = join(folder, 'key');
  await writeFile(key, 'a key of more than sixteen characters');
  const plain = ['parquet', 'emission'].map((format) => ['--format', format]);
  const hidden = ['--format', 'csv', '--pseudonyms', key, '--coarse', '250m'];
  for (const [i, flags] of [...plain, hidden].entries()) {
    const [one, three] = ['1', '3'].map((workers) => join(folder, `by-${workers}-${i}`));
    for (const [out, workers] of [
      [one!, '1'],
      [three!, '3'],
    ]) {
      const done = await run(['export', '--all', ...flags, '--workers', workers!, '--out', out!, '--store', address]);
      expect([done.code, done.stderr]).toEqual([0, '']);
    }
    const names = (await readdir(one!)).filter((name) => !/^(datapackage|codebook)/.test(name)); // with the time
    expect(names.length).toBeGreaterThan(0);
    for (const name of names)
      expect(await readFile(join(three!, name)), name).toEqual(await readFile(join(one!, name)));
  }
});

it('an export ends with the worker that is killed, and continues', async () => {
  const { address, folder } = await simulated(12);
  const line = ['export', '--all', '--format', 'csv', '--kind', 'entries', '--workers', '2', '--store', address];
  const out = join(folder, 'out');
  const parent = await start([...line, '--out', out]);
  await until(async () =>
    (await readdir(join(out, '.parts')).catch(() => [])).some((name) => /^[0-9a-f]{32}$/.test(name)),
  );
  const { stdout } = spawnSync('pgrep', ['-P', String(parent.pid)], { encoding: 'utf8' });
  process.kill(Number(stdout.split('\n')[0]), 'SIGKILL');
  const { code, stderr } = await parent.exit;
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(/users? finished: run the same command again[\s\S]*a worker process ended: SIGKILL/),
  ]);
  expect((await run([...line, '--out', out])).stderr).toMatch(/taken over from an export/);
});

const limited = (bytes: number) => ['prlimit', `--fsize=${bytes}:`];

it.skipIf(!canLimit)(
  'an export that cannot finish a file reports an output error, not a usage error, and leaves no file',
  async () => {
    const { address, folder } = await simulated(1);
    const at = ['--store', address];
    expect((await run(['pipeline', '--all', ...at])).code).toBe(0);
    const ada = ['--user', 'sim-p-1@example.org'];
    const [tables, archive] = ['tables', 'archive'].map((name) => join(folder, name));
    const commands = [
      {
        line: ['export', ...ada, '--format', 'csv', '--kind', 'days', '--kind', 'entries', '--out', tables!],
        file: join(tables!, '.parts'),
      },
      { line: ['export', ...ada, '--out', archive!], file: join(archive!, 'entries.jsonl') },
    ];
    for (const { line, file } of commands) {
      const { code, stderr } = await run([...line, ...at], { through: limited(40_000) });
      expect([code, stderr]).toEqual([1, expect.stringContaining(`MOBILITY_OUTPUT: cannot write ${file}`)]);
    }
    expect([tables!, archive!].map((one) => existsSync(one))).toEqual([false, false]);
    for (const { line } of commands) expect((await run([...line, ...at])).code).toBe(0);
  },
);

it('several processes share the users and print one report', async () => {
  const { address } = await simulated(6);
  const both = await run(['pipeline', '--all', '--workers', '2', '--json', '--store', address]);
  const report = JSON.parse(both.stdout) as AllReport;
  expect([both.code, report.users, report.done, report.nothing_new, report.failed]).toEqual([0, 6, 6, 0, 0]);
  const again = await run(['pipeline', '--all', '--workers', '2', '--store', address]);
  expect(again.stdout).toMatch(/^6 users: nothing new, nothing written/);
});

it('several processes rebuild all users and report the same changes as one', async () => {
  const reports = [];
  for (const workers of ['1', '2']) {
    const { address } = await simulated(3);
    const all = await run(['rebuild', '--all', '--workers', workers, '--json', '--store', address]);
    const { users, added, days_changed, failures, after } = JSON.parse(all.stdout);
    reports.push({ code: all.code, users, added, days_changed, failures, after });
  }
  expect(reports[0]).toMatchObject({ code: 0, users: 3, failures: [] });
  expect(reports[0]!.added).toBeGreaterThan(0);
  expect(Object.keys(reports[1]!.after).sort()).toEqual(Object.keys(reports[0]!.after).sort());
  expect({ ...reports[1], after: null }).toEqual({ ...reports[0], after: null });
});

it('a killed worker is reported, and its user and all others are processed', async () => {
  const { address } = await simulated(6);
  const store = await storeAt(address);
  const env = { MOBILITY_LEASE_SECONDS: '1' };
  const both = await start(['pipeline', '--all', '--workers', '2', '--json', '--store', address], { env });
  process.kill(await workerAt(store), 'SIGKILL');
  const { code, stdout, stderr } = await both.exit;
  const report = JSON.parse(stdout) as AllReport;
  expect([code, report.users, report.busy, report.failed]).toEqual([3, 6, 0, 0]);
  expect(stderr).toContain('1 worker ended while processing a user (SIGKILL)');
  const users = await store.users.list({ limit: 10 });
  expect(
    await store.pipeline.withWork(
      users.map(({ uuid }) => uuid),
      Infinity,
    ),
  ).toEqual(new Set());
});

async function childrenOf(parent: number): Promise<number[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=']);
  const rows = stdout
    .trim()
    .split('\n')
    .map((row) => row.trim().split(/\s+/).map(Number));
  return rows.flatMap(([pid, of]) => (of === parent ? [pid!] : []));
}

it('Ctrl-C at a terminal also stops workers that have not begun, and the report counts every user', async () => {
  const { address } = await simulated(2);
  const both = await start(['pipeline', '--all', '--workers', '2', '--json', '--store', address]);
  let workers: number[] = [];
  await until(async () => {
    workers = await childrenOf(both.pid);
    return workers.length === 2;
  });
  for (const pid of [both.pid, ...workers]) process.kill(pid, 'SIGINT');
  const { code, stdout, stderr } = await both.exit;
  const { users, done, nothing_new, busy, failed } = JSON.parse(stdout) as AllReport;
  expect([code, failed, done + nothing_new + busy]).toEqual([130, 0, users]);
  expect(stderr).not.toContain('ended');
});

describe('pipeline --all --every', () => {
  /** The line of a round; the time that it took may be written as "0.5 s", "12 s" or "1 min 5 s". */
  const line = /^2 users: (\d) done, .*\b\d+ days? changed, in \S.*$/gm;

  it.each(['', '--workers 2'])(
    'processes later entries in later rounds, and exits with 0 at SIGTERM (%s)',
    async (workers) => {
      const { address, run: inProcess } = await simulated(2);
      const store = await storeAt(address);
      const words = workers.split(' ').filter((word) => word !== '');
      const running = await start(['pipeline', '--all', '--every', '1s', ...words, '--store', address]);
      onTestFinished(() => void running.kill());
      // A round may come between the two whose data arrive.
      const done = (): number =>
        [...running.output().stderr.matchAll(line)].reduce((sum, [, count]) => sum + Number(count), 0);
      await until(() => done() === 2);
      for (const pid of await childrenOf(running.pid)) process.kill(pid, 'SIGKILL'); // an idle worker is replaced
      await inProcess(['simulate', '--users', '2', '--from', '2024-03-20', '--seed', 'p']);
      await until(() => done() >= 4);
      const { code, stdout, stderr } = await running.stop();
      expect([code, stdout]).toEqual([0, '']);
      const others = stderr
        .replaceAll(line, '')
        .split('\n')
        .filter((text) => text !== '');
      // A worker that is killed after a round's end may have had the next user in hand: that user comes again.
      const quiet =
        /^(2 users: nothing new, nothing written, in|finishing the users in progress|stopped before the first|1 worker ended while processing a user)/;
      expect(others.filter((text) => !quiet.test(text))).toEqual([]);
      for (const { uuid } of await store.users.list({ limit: 10 })) expect(await store.leases.get(uuid)).toBeNull();
    },
  );

  it('reports an unavailable store once per round and continues when the store is available again', async () => {
    const { address } = await simulated(2);
    const env = { MOBILITY_LOG_DIR: tempFolder() }; // in the store's folder, a line would make it anew
    const running = await start(['pipeline', '--all', '--every', '1s', '--store', address], { env });
    onTestFinished(() => void running.kill());
    await until(() => running.output().stderr.startsWith('2 users: 2 done'));
    await rename(address, `${address}-away`);
    const unavailable = /^mobility: MOBILITY_STORE_UNAVAILABLE: .*; the next round tries again$/m;
    await until(() => unavailable.test(running.output().stderr));
    await rename(`${address}-away`, address);
    await until(() => /again\n2 users: nothing new/.test(running.output().stderr));
    expect((await running.stop()).code).toBe(0);
  });
});

it('passes the options of Node to its workers', async () => {
  const { address } = await simulated(2);
  const note = join(tempFolder(), 'processes');
  const preload = `data:text/javascript,import{appendFileSync}from'node:fs';appendFileSync(process.env.NOTE,'one ')`;
  const command = [program, 'pipeline', '--all', '--workers', '2', '--store', address];
  await promisify(execFile)(process.execPath, ['--import', preload, ...command], {
    env: { ...process.env, NOTE: note },
  });
  expect(await readFile(note, 'utf8')).toBe('one one one ');
});

it('Ctrl-C ends a simulation with 130, and the command in its message adds the other users', async () => {
  const { address } = await freshProgram();
  const command = ['simulate', '--users', '3', '--days', '40', '--json', '--store', address];
  const simulating = await start([...command, '--from', '2024-03-12']);
  await until(async () => {
    const store = await openStore(address, { make: false }).catch(() => null);
    const users = (await store?.users.list({ limit: 1 }).catch(() => [])) ?? [];
    await store?.close();
    return users.length > 0;
  });
  process.kill(simulating.pid, 'SIGINT');
  const { code, stdout, stderr } = await simulating.exit;
  const first = simulatedUsers(stdout);
  const pushed = sumOf(first.map(({ days }) => days));
  expect([code, pushed < 120]).toEqual([130, true]);
  expect(stderr).toBe(
    `interrupted: ${pushed} of 120 days of phones were pushed and stay in the store; run the same command again with --from 2024-03-12 to continue\n`,
  );
  const again = await run([...command, '--from', '2024-03-12']);
  const second = simulatedUsers(again.stdout);
  expect([again.code, second.map(({ days }) => days)]).toEqual([0, [40, 40, 40]]);
  const added = sumOf([...first, ...second].map((user) => user.new));
  expect(added).toBe(sumOf(second.map(({ entries }) => entries)));
});

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, one) => sum + one, 0);
const simulatedUsers = (stdout: string) =>
  (JSON.parse(stdout) as { users: { days: number; entries: number; new: number }[] }).users;

it('a server stops with 0 at SIGTERM and at Ctrl-C', async () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    const folder = tempFolder();
    const env = { MOBILITY_STORE: join(folder, 'store') };
    const server = await start(['serve', '--auth', 'dev', '--port', '0', '--workers', '1'], { env });
    await until(() => server.output().stderr.includes('listens on'));
    process.kill(server.pid, signal);
    expect((await server.exit).code).toBe(0);
  }
});
