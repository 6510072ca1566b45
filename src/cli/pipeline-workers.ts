// Several processes that work through the users together: each begins elsewhere in the register, and leases keep them
// apart.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { AllReport } from '../pipeline/run-all.ts';
import type { UserReport } from '../pipeline/run-pipeline.ts';
import type { CommandContext } from './context.ts';

const program = fileURLToPath(new URL('../../bin/mobility.js', import.meta.url));

/** What several processes came to; `lost`: how those ended that gave no report. */
export interface SharedRun {
  report: AllReport;
  lost: string[];
}

/**
 * Runs `mobility pipeline --all` in `count` processes. Rejects when none of them gave a report, unless the run was
 * stopped before they had begun.
 */
export async function runInProcesses(context: CommandContext, count: number): Promise<SharedRun> {
  const started = context.now();
  const starts = Array.from({ length: count }, (_, i) =>
    Math.floor((i * 256) / count)
      .toString(16)
      .padStart(2, '0'),
  );
  const ends = await Promise.all(starts.map((startAt) => runProcess(context, startAt)));
  const reports = ends.filter((end) => typeof end !== 'string');
  // A run that is stopped ends workers that had not begun: they had nobody in work, and are not lost. Ctrl-C at a
  // terminal reaches them too.
  const hadNotBegun = (end: string): boolean => context.signal.aborted && ['SIGTERM', 'SIGINT'].includes(end);
  const lost = ends.filter((end) => typeof end === 'string').filter((end) => !hadNotBegun(end));
  if (reports.length === 0 && lost.length > 0)
    throw new Error(`every pipeline worker ended without a report: ${lost.join(', ')}`);
  return { report: { ...mergeReports(reports), seconds: context.now() - started }, lost };
}

/** One report of what several processes did with the same users; a run that was stopped counts those it came to. */
function mergeReports(reports: readonly AllReport[]): AllReport {
  const rank: Record<UserReport['status'], number> = { nothing_new: 0, busy: 1, failed: 2, done: 3 };
  const byUser = new Map<string, UserReport>();
  for (const one of reports.flatMap((report) => report.reports)) {
    const known = byUser.get(one.user_id);
    if (known === undefined || rank[one.status] > rank[known.status]) byUser.set(one.user_id, one);
  }
  const merged = [...byUser.values()];
  const count = (status: UserReport['status']): number => merged.filter((one) => one.status === status).length;
  const [done, busy, failed] = [count('done'), count('busy'), count('failed')];
  const users = Math.max(merged.length, ...reports.map((report) => report.users));
  const seconds = Math.max(0, ...reports.map((report) => report.seconds));
  return { users, done, nothing_new: users - merged.length, busy, failed, seconds, reports: merged };
}

/** Its report, or how it ended without one. */
function runProcess(context: CommandContext, startAt: string): Promise<AllReport | string> {
  // Settings travel as variables: a store address may hold a password, and arguments can be seen by everybody on the
  // host.
  const { store, logDir } = context.config();
  const env = { ...context.env, MOBILITY_STORE: store, MOBILITY_LOG_DIR: logDir };
  const child = spawn(
    process.execPath,
    [...process.execArgv, program, 'pipeline', '--all', '--json', '--start-at', startAt],
    {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  context.signal.addEventListener('abort', () => child.kill('SIGTERM'), { once: true });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve(reportIn(text) ?? signal ?? `exit code ${code}`));
  });
}

/** null where a process died before it had written all of it. */
function reportIn(text: string): AllReport | null {
  try {
    return JSON.parse(text) as AllReport;
  } catch {
    return null;
  }
}
