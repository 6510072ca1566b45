// The built program as a process: pipes that close, Ctrl-C, several workers.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from 'vitest';
import type { AllReport } from '../../src/pipeline/run-all.ts';
import { openStore } from '../../src/store/open.ts';
import { buildProgram, run, start } from '../faults/program.ts';
import { freshProgram, tempFolder } from './kit.ts';

let program: string;
beforeAll(async () => {
  program = join(await buildProgram(), 'bin', 'mobility.js');
}, 120_000);

const simulated = async (users: number) => {
  const fresh = await freshProgram();
  await fresh.run(['simulate', '--users', String(users), '--days', '2', '--from', '2024-03-12', '--seed', 'p']);
  return fresh;
};

it('a reader that goes away ends the program quietly with 0', async () => {
  const { address } = await simulated(1);
  const line = `"$0" "$1" export --user sim-p-1@example.org --entries --store "$2" | head -n 2 | wc -l; echo "\${PIPESTATUS[0]}"`;
  const { stdout, stderr } = await promisify(execFile)('bash', ['-c', line, process.execPath, program, address]);
  expect([stdout.trim().split(/\s+/), stderr]).toEqual([['2', '0'], '']);
});

it('Ctrl-C ends a pipeline run with 130, and the next run need not wait for anybody', async () => {
  const { address } = await simulated(8);
  const running = await start(['pipeline', '--all', '--json', '--store', address]);
  await new Promise((resolve) => setTimeout(resolve, 600));
  process.kill(running.pid, 'SIGINT');
  const { code, signal } = await running.exit;
  expect(signal === 'SIGINT' || code === 130 || code === 0).toBe(true); // it may have been before or behind its work
  const next = await run(['pipeline', '--all', '--json', '--store', address]);
  const report = JSON.parse(next.stdout) as AllReport;
  expect([next.code, report.busy, report.failed, report.users]).toEqual([0, 0, 0, 8]);
});

it('Ctrl-C gives the user in work back at once', async () => {
  const { address } = await simulated(1);
  const rebuild = await start(['rebuild', '--user', 'sim-p-1@example.org', '--store', address]);
  await new Promise((resolve) => setTimeout(resolve, 500));
  process.kill(rebuild.pid, 'SIGINT');
  await rebuild.exit;
  const next = await run(['pipeline', '--user', 'sim-p-1@example.org', '--store', address]);
  expect([next.code, next.stdout]).toEqual([0, expect.stringMatching(/done in|nothing new/)]);
});

it('several processes share the users and report as one', async () => {
  const { address } = await simulated(6);
  const both = await run(['pipeline', '--all', '--workers', '2', '--json', '--store', address]);
  const report = JSON.parse(both.stdout) as AllReport;
  expect([both.code, report.users, report.done, report.nothing_new, report.failed]).toEqual([0, 6, 6, 0, 0]);
  const again = await run(['pipeline', '--all', '--workers', '2', '--store', address]);
  expect(again.stdout).toMatch(/^6 users: nothing new, nothing written/);
});

it('a worker that dies is told of; its user and all others are done', async () => {
  const { address } = await simulated(6);
  const store = await openStore(address);
  try {
    const users = await store.users.list({ limit: 10 });
    const env = { MOBILITY_LEASE_SECONDS: '1' };
    const both = await start(['pipeline', '--all', '--workers', '2', '--json', '--store', address], { env });
    let owner: string | undefined;
    while (owner === undefined) {
      for (const { uuid } of users) owner ??= (await store.leases.get(uuid))?.owner;
    }
    process.kill(Number(/^pipeline (\d+) on/.exec(owner)?.[1]), 'SIGKILL');
    const { code, stdout, stderr } = await both.exit;
    const report = JSON.parse(stdout) as AllReport;
    expect([code, report.users, report.busy, report.failed]).toEqual([3, 6, 0, 0]);
    expect(stderr).toContain('1 worker of this run ended without a report (SIGKILL)');
    expect(await store.pipeline.withWork(users.map(({ uuid }) => uuid))).toEqual(new Set());
  } finally {
    await store.close();
  }
});

it('a server stops with 0 when told to, at Ctrl-C too', async () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    const folder = await tempFolder();
    const env = { MOBILITY_STORE: join(folder, 'store') };
    const server = await start(['serve', '--auth', 'dev', '--port', '0', '--workers', '1'], { env });
    while (!server.output().stderr.includes('listens on')) await new Promise((resolve) => setTimeout(resolve, 20));
    process.kill(server.pid, signal);
    expect((await server.exit).code).toBe(0);
  }
});
