// The built program as a process: pipes that close, Ctrl-C, several workers.

import { execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, readFile, rename, rm, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { AllReport } from '../../../src/pipeline/run-all.ts';
import type { Store } from '../../../src/store/store.ts';
import { freshProgram, tempFolder } from '../../cli/kit.ts';
import { type How, run, start, startServer } from '../../faults/program.ts';
import { buildProgram } from '../../support/build.ts';
import { isHere } from '../../support/needs.ts';
import { sampled } from '../../support/sample.ts';
import { openStoreIn } from '../../support/store.ts';
import { until } from '../../support/until.ts';
import type { Untyped } from '../../support/untyped.ts';

let program: string;
beforeAll(async () => {
  program = join(await buildProgram(), 'bin', 'mobility.js');
});

const ada = 'sim-p-1@example.org';

/** A store with simulated people; `on` and `begin` run the built program on it. */
async function simulated(users: number) {
  const fresh = await freshProgram();
  if (users > 0) await fresh.run(`simulate --users ${users} --days 2 --from 2024-03-12 --seed p`);
  const at = ['--store', fresh.address];
  return {
    ...fresh,
    at,
    on: (line: string, how: How = {}) => run([...line.split(' '), ...at], how),
    begin: (line: string, how: How = {}) => start([...line.split(' '), ...at], how),
  };
}

it('the program exits with 0 and without a message when the reader of its output closes the pipe', async () => {
  const { address } = await simulated(1);
  const line = `"$0" "$1" export --user ${ada} --entries --store "$2" | head -n 2 | wc -l; echo "\${PIPESTATUS[0]}"`;
  const { stdout, stderr } = await promisify(execFile)('bash', ['-c', line, process.execPath, program, address]);
  expect([stdout.trim().split(/\s+/), stderr]).toEqual([['2', '0'], '']);
});

it('a host whose TZ is not the name of a zone gets times in UTC', async () => {
  const { on } = await simulated(0);
  for (const line of ['simulate --users 1 --days 1', 'pipeline --all', 'status', 'logs --since 1h']) {
    const stderr = expect.not.stringContaining('mobility:');
    expect(await on(line, { env: { TZ: 'Nowhere/Town' } }), line).toMatchObject({ code: 0, stderr });
  }
});

const redirected = (redirections: string) => ({ through: ['bash', '-c', `exec "$@" ${redirections}`, 'bash'] });

describe.skipIf(!isHere('/dev/full', existsSync('/dev/full')))('a full disk', () => {
  it('on standard output ends a command, help and --version with exit code 1 and one line', async () => {
    const { on } = await simulated(1);
    for (const line of ['status', 'status --json', `export --user ${ada} --entries`, '--help', '-V']) {
      const { code, stderr } = await on(line, redirected('>/dev/full'));
      const message = line.includes('--json')
        ? /^\{"error":\{"code":"MOBILITY_OUTPUT","message":"cannot write to standard output: ENOSPC[^\n]*\n$/
        : /^mobility: MOBILITY_OUTPUT: cannot write to standard output: ENOSPC[^\n]*\n$/;
      expect([line, code, stderr]).toEqual([line, 1, expect.stringMatching(message)]);
    }
  });

  it('on standard output moves the receipt of an erasure to standard error', async () => {
    const { on } = await simulated(1);
    const { code, stderr } = await on(`erase --user ${ada} --yes --json`, redirected('>/dev/full'));
    const [receipt, failure] = stderr.split('\n{"error":');
    expect(JSON.parse(receipt!).users[0]).toMatchObject({ user_email: ada, remaining: { timeseries: 0 } });
    const erased = /"MOBILITY_OUTPUT","message":"the users are erased, and the receipt/;
    expect([code, failure]).toEqual([1, expect.stringMatching(erased)]);
  });

  it('on standard output revokes new tokens that were not shown, and keeps the replaced ones valid', async () => {
    const { on, json } = await simulated(1);
    await on(`users token ${ada}`);
    await on('study create sunny --list');
    for (const line of [`users token ${ada} --replace`, 'study tokens sunny --count 2']) {
      const stderr = expect.stringMatching(/^mobility: MOBILITY_OUTPUT: .* revoked, since they were not shown/);
      expect(await on(line, redirected('>/dev/full'))).toMatchObject({ code: 1, stderr });
    }
    const { users: members } = await json('users', 'list', '--study', 'sunny');
    expect(members).toHaveLength(2);
    for (const [user, valid] of [[ada, 1], ...members.map(({ user_id }: Untyped) => [user_id, 0])]) {
      const { tokens } = await json('users', 'tokens', user);
      expect(tokens.filter(({ revoked_ts }: Untyped) => revoked_ts === undefined)).toHaveLength(valid);
    }
  });

  it('on standard output leaves the complete tables of an export', async () => {
    const { on, folder } = await simulated(1);
    const out = join(folder, 'out');
    const line = `export --all --format csv --kind entries --out ${out}`;
    expect((await on(line, redirected('>/dev/full'))).code).toBe(1);
    expect((await readdir(out)).sort()).toEqual(['codebook.html', 'datapackage.json', 'entries.csv']);
  });

  it('on standard error loses only notes', async () => {
    const { on } = await simulated(0);
    const simulating = on('simulate --users 1 --days 2 --from 2024-03-12', redirected('2>/dev/full'));
    expect(await simulating).toMatchObject({ code: 0, stdout: expect.stringContaining('sim-demo-1@example.org') });
  });

  it('on standard output of a server loses log lines but no call, and each process reports it once', async () => {
    const store = join(tempFolder(), 'store');
    const server = await startServer(store, { env: { MOBILITY_WORKERS: '2' }, ...redirected('>/dev/full') });
    for (let i = 0; i < 30; i += 1) expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
    const { code, stderr } = await server.stop();
    const [first, ...notes] = stderr.trimEnd().split('\n');
    expect([code, first]).toEqual([0, expect.stringContaining('listens on')]);
    expect([1, 2]).toContain(notes.length); // as many as workers got calls
    for (const note of notes)
      expect(note).toMatch(/^mobility: lines of standard output have been dropped since \S+: ENOSPC: /);
    const { stdout } = await run(['logs', 'errors', '--json', '--store', store]);
    const counts = [...stdout.matchAll(/Lines of standard output dropped = (\d+) since/g)];
    expect(sumOf(counts.map(([, count]) => Number(count)))).toBe(60);
  });
});

const canLimit = isHere('prlimit', spawnSync('prlimit', ['--fsize=65536:', 'true']).status === 0);

describe.skipIf(!canLimit)('standard output in a file with a small size limit', () => {
  const most = 64 * 1024 * 1024; // bytes: more than any other file here has

  /** A file with room for 20 bytes. */
  const smallFile = async () => {
    const file = join(tempFolder(), 'output');
    await writeFile(file, '');
    await truncate(file, most - 20);
    return { file, through: ['prlimit', `--fsize=${most}:`, ...redirected(`>>${file}`).through] };
  };
  const written = async (file: string): Promise<string> => (await readFile(file)).subarray(most - 20).toString();

  it('gets a part of the result, and the command fails', async () => {
    const { file, through } = await smallFile();
    const stderr = expect.stringContaining('cannot write to standard output');
    expect(await run(['config', '--json'], { through })).toMatchObject({ code: 1, stderr });
    expect(await written(file)).toMatch(/^\{\n {2}"settings": \[\n/);
  });

  it('loses lines of a server until there is space, the log counts them, and the next line is whole', async () => {
    const { file, through } = await smallFile();
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

/** The process that holds a lease on one of the users: it is at work. */
async function workerAt(store: Store): Promise<number> {
  const users = await store.users.list({ limit: 100 });
  let owner: string | undefined;
  await until(async () => {
    const leases = await Promise.all(users.map(({ uuid }) => store.leases.get(uuid)));
    owner = leases.find((lease) => lease !== null)?.owner;
    return owner !== undefined;
  });
  return Number(/ (\d+) on/.exec(owner!)?.[1]);
}

it('Ctrl-C ends a pipeline run with 130 before the last user, and the next run does not wait for a lease', async () => {
  const { address, on, begin } = await simulated(12);
  const store = await openStoreIn(address);
  const running = await begin('pipeline --all --json');
  process.kill(await workerAt(store), 'SIGINT');
  const { code, stdout } = await running.exit;
  const { done } = JSON.parse(stdout) as AllReport;
  expect([code, done > 0, done < 12]).toEqual([130, true, true]);
  const next = await on('pipeline --all --json');
  expect([next.code, JSON.parse(next.stdout)]).toMatchObject([0, { busy: 0, failed: 0, done: 12 - done }]);
});

/** The people of an export that are finished. */
const finishedIn = async (out: string): Promise<string[]> =>
  (await readdir(join(out, '.parts')).catch(() => []))
    .filter((name) => /^[0-9a-f]{32}$/.test(name))
    .map((name) => join(out, '.parts', name));

/** An export that is killed when two of its people are finished. */
async function killedExport() {
  const fresh = await simulated(12);
  const out = join(fresh.folder, 'out');
  const line = (to: string, workers: number) =>
    `export --all --format parquet --kind places --kind people --kind entries --workers ${workers} --out ${to}`;
  const killed = await fresh.begin(line(out, 2));
  await until(async () => (await finishedIn(out)).length > 1);
  expect((await killed.kill()).signal).toBe('SIGKILL');
  expect(await readdir(out)).toEqual(['.parts']);
  return { ...fresh, out, whole: join(fresh.folder, 'whole'), line };
}

/** The checksums of the tables of an export. */
const sumsIn = async (out: string): Promise<string[]> =>
  JSON.parse(await readFile(join(out, 'datapackage.json'), 'utf8')).resources.map(({ hash }: { hash: string }) => hash);

it('a killed export leaves no file under its final name, and the same command continues it', async () => {
  const { on, out, whole, line } = await killedExport();
  const taken = expect.stringMatching(/^\d+ users taken over from an export/);
  expect(await on(line(out, 1))).toMatchObject({ code: 0, stderr: taken });
  const tables = ['entries.parquet', 'people.parquet', 'places.parquet'];
  expect((await readdir(out)).sort()).toEqual(['codebook.html', 'datapackage.json', ...tables]);
  expect((await on(line(whole, 3))).code).toBe(0);
  expect(await sumsIn(out)).toEqual(await sumsIn(whole));
});

it('an export that continues has the users of now, and reads users again after a day', async () => {
  const { on, out, whole, line, succeed } = await killedExport();
  await succeed(`erase --user ${ada} --yes`);
  await succeed('users add late@example.org');
  for (const path of await finishedIn(out)) await utimes(path, 1_700_000_000, 1_700_000_000);
  expect(await on(line(out, 2))).toMatchObject({ code: 0, stderr: '' });
  expect((await on(line(whole, 1))).code).toBe(0);
  expect(await sumsIn(out)).toEqual(await sumsIn(whole));
});

it('several processes write the bytes of one, also in the order of pseudonyms', async () => {
  const { folder, on, succeed } = await simulated(4);
  await succeed('pipeline --all');
  const key = join(folder, 'key');
  await writeFile(key, 'a key of more than sixteen characters');
  const formats = [`csv --pseudonyms ${key} --coarse 250m`, 'parquet', 'emission'];
  for (const [i, format] of sampled(formats, 1).entries()) {
    const [one, three] = ['1', '3'].map((workers) => join(folder, `by-${workers}-${i}`)) as [string, string];
    const line = `export --all --format ${format} --workers`;
    await succeed(`${line} 1 --out ${one}`);
    expect(await on(`${line} 3 --out ${three}`)).toMatchObject({ code: 0, stderr: '' });
    const names = (await readdir(one)).filter((name) => !/^(datapackage|codebook)/.test(name)); // with the time
    expect(names.length).toBeGreaterThan(0);
    for (const name of names) expect(await readFile(join(three, name)), name).toEqual(await readFile(join(one, name)));
  }
});

it('an export ends with the worker that is killed, and continues', async () => {
  const { folder, on, begin } = await simulated(12);
  const out = join(folder, 'out');
  const line = `export --all --format csv --kind entries --workers 2 --out ${out}`;
  const parent = await begin(line);
  await until(async () => (await finishedIn(out)).length > 0);
  for (const pid of await childrenOf(parent.pid)) process.kill(pid, 'SIGKILL'); // one may not have begun
  const ended = /users? finished: run the same command again[\s\S]*a worker process ended: SIGKILL/;
  expect(await parent.exit).toMatchObject({ code: 1, stderr: expect.stringMatching(ended) });
  expect((await on(line)).stderr).toMatch(/taken over from an export/);
});

it.skipIf(!canLimit)('an export that cannot finish a file reports an output error and leaves no file', async () => {
  const { folder, on, succeed } = await simulated(1);
  await succeed('pipeline --all');
  const out = join(folder, 'out');
  for (const [flags, file] of [
    ['--format csv --kind days --kind entries', '.parts'],
    ['', 'entries.jsonl'],
  ] as const) {
    const line = `export --user ${ada} --out ${out} ${flags}`.trim();
    const stderr = expect.stringContaining(`MOBILITY_OUTPUT: cannot write ${join(out, file)}`);
    expect(await on(line, { through: ['prlimit', '--fsize=40000:'] })).toMatchObject({ code: 1, stderr });
    expect(existsSync(out)).toBe(false);
    expect((await on(line)).code).toBe(0);
    await rm(out, { recursive: true });
  }
});

it('several processes share the users and print one report', async () => {
  const { on } = await simulated(6);
  const both = await on('pipeline --all --workers 2 --json');
  const counts = { users: 6, done: 6, nothing_new: 0, failed: 0 };
  expect([both.code, JSON.parse(both.stdout)]).toMatchObject([0, counts]);
  expect((await on('pipeline --all --workers 2')).stdout).toMatch(/^6 users: nothing new, nothing written/);
});

it('several processes rebuild all users and report the same changes as one', async () => {
  const reportOf = async (workers: number) => {
    const { code, stdout } = await (await simulated(3)).on(`rebuild --all --workers ${workers} --json`);
    const { users, added, days_changed, failures, after } = JSON.parse(stdout);
    return { code, users, added, days_changed, failures, modes: Object.keys(after).sort() };
  };
  const one = await reportOf(1);
  expect(one).toMatchObject({ code: 0, users: 3, failures: [] });
  expect(one.added).toBeGreaterThan(0);
  expect(await reportOf(2)).toEqual(one);
});

it('a killed worker is reported, and its user and all others are processed', async () => {
  const { address, begin } = await simulated(6);
  const store = await openStoreIn(address);
  const both = await begin('pipeline --all --workers 2 --json', { env: { MOBILITY_LEASE_SECONDS: '1' } });
  process.kill(await workerAt(store), 'SIGKILL');
  const { code, stdout, stderr } = await both.exit;
  expect([code, JSON.parse(stdout)]).toMatchObject([3, { users: 6, busy: 0, failed: 0 }]);
  expect(stderr).toContain('1 worker ended while processing a user (SIGKILL)');
  const uuids = (await store.users.list({ limit: 10 })).map(({ uuid }) => uuid);
  expect(await store.pipeline.withWork(uuids, Infinity)).toEqual(new Set());
});

async function childrenOf(parent: number): Promise<number[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=']);
  const rows = [...stdout.matchAll(/(\d+) +(\d+)\n/g)];
  return rows.flatMap(([, pid, of]) => (Number(of) === parent ? [Number(pid)] : []));
}

it('Ctrl-C at a terminal also stops workers that have not begun, and the report counts every user', async () => {
  const { begin } = await simulated(2);
  const both = await begin('pipeline --all --workers 2 --json');
  await until(async () => (await childrenOf(both.pid)).length === 2);
  for (const pid of [both.pid, ...(await childrenOf(both.pid))]) process.kill(pid, 'SIGINT');
  const { code, stdout, stderr } = await both.exit;
  const { users, done, nothing_new, busy, failed } = JSON.parse(stdout) as AllReport;
  expect([code, failed, done + nothing_new + busy]).toEqual([130, 0, users]);
  expect(stderr).not.toContain('ended');
});

describe('pipeline --all --every', () => {
  /** The line of a round; the time that it took may be written as "0.5 s", "12 s" or "1 min 5 s". */
  const line = /^2 users: (\d) done, .*\b\d+ days? changed, in \S.*$/gm;

  it.each(['', ' --workers 2'])('processes later entries in later rounds until SIGTERM (%s)', async (workers) => {
    const { address, begin, succeed } = await simulated(2);
    const store = await openStoreIn(address);
    const running = await begin(`pipeline --all --every 1s${workers}`);
    onTestFinished(() => void running.kill());
    // A round may come between the two whose data arrive.
    const done = (): number => sumOf([...running.output().stderr.matchAll(line)].map(([, count]) => Number(count)));
    await until(() => done() === 2);
    for (const pid of await childrenOf(running.pid)) process.kill(pid, 'SIGKILL'); // an idle worker is replaced
    await succeed('simulate --users 2 --from 2024-03-20 --seed p');
    await until(() => done() >= 4);
    const { code, stdout, stderr } = await running.stop();
    expect([code, stdout]).toEqual([0, '']);
    // A worker that is killed after a round's end may have had the next user in hand: that user comes again.
    const quiet =
      /^(2 users: nothing new, nothing written, in|finishing the users in progress|stopped before the first|1 worker ended while processing a user|$)/;
    expect(stderr.split('\n').filter((text) => !(quiet.test(text) || text.match(line)))).toEqual([]);
    for (const { uuid } of await store.users.list({ limit: 10 })) expect(await store.leases.get(uuid)).toBeNull();
  });

  it('reports an unavailable store once per round and continues when the store is available again', async () => {
    const { address, begin } = await simulated(2);
    const env = { MOBILITY_LOG_DIR: tempFolder() }; // in the store's folder, a line would make it anew
    const running = await begin('pipeline --all --every 1s', { env });
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

it('passes the options of Node to its workers, and replaces a worker that is killed early', async () => {
  const { at } = await simulated(2);
  const note = join(tempFolder(), 'processes');
  const kill = `write(note+'-killed','',{flag:'wx'});process.kill(process.pid,'SIGKILL')`;
  const lines = `const note=process.env.NOTE;add(note,'one ');if(process.argv.includes('--worker'))try{${kill}}catch{}`;
  const preload = `data:text/javascript,import{appendFileSync as add,writeFileSync as write}from'node:fs';${lines}`;
  const args = ['--import', preload, program, 'pipeline', '--all', '--workers', '2', ...at];
  await promisify(execFile)(process.execPath, args, { env: { ...process.env, NOTE: note } });
  expect(await readFile(note, 'utf8')).toMatch(/^(?:one ){3,4}$/);
});

it('Ctrl-C ends a simulation with 130, and the command in its message adds the other users', async () => {
  const { address, on, begin } = await simulated(0);
  const line = 'simulate --users 3 --days 40 --json --from 2024-03-12';
  const store = await openStoreIn(address);
  const simulating = await begin(line);
  await until(async () => (await store.users.list({ limit: 1 })).length > 0);
  process.kill(simulating.pid, 'SIGINT');
  const { code, stdout, stderr } = await simulating.exit;
  const first: Untyped[] = JSON.parse(stdout).users;
  const pushed = sumOf(first.map(({ days }) => days));
  expect([code, pushed < 120]).toEqual([130, true]);
  expect(stderr).toBe(
    `interrupted: the phones pushed ${pushed} of 120 days, which stay in the store; run the same command again with --from 2024-03-12 to continue\n`,
  );
  const again = await on(line);
  const second: Untyped[] = JSON.parse(again.stdout).users;
  expect([again.code, second.map(({ days }) => days)]).toEqual([0, [40, 40, 40]]);
  const added = sumOf([...first, ...second].map((user) => user.new));
  expect(added).toBe(sumOf(second.map(({ entries }) => entries)));
});

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, one) => sum + one, 0);
