import { quotedName } from '../diary/status/remedies.ts';
import type { UserRecord } from '../model/user.ts';
import type { AllReport } from '../pipeline/run-all.ts';
import type { UserReport } from '../pipeline/run-pipeline.ts';
import type { StageReport } from '../pipeline/stage.ts';
import { counted, table, workTimeText } from './output.ts';

const headlines: Record<UserReport['status'], string> = {
  done: 'done',
  nothing_new: 'nothing new, nothing written',
  busy: 'another run works on this user',
  failed: 'failed',
};

/** Returns `ada@example.org (uuid): done in 0.42 s`, and a line with the figures of each stage. */
export function userReportText(user: Pick<UserRecord, 'uuid' | 'user_email'>, report: UserReport): string {
  const reason = report.message === undefined ? '' : `: ${report.message}`;
  const seconds = report.stages.length === 0 ? '' : ` in ${workTimeText(report.seconds)}`;
  const head = `${user.user_email} (${user.uuid}): ${headlines[report.status]}${seconds}${reason}`;
  return [...faultLines(report.stages), head, ...stageLines(report.stages)].join('\n');
}

export type NamedReport = Awaited<ReturnType<typeof namedReport>>;

export async function namedReport(report: AllReport, nameOf: (userId: string) => Promise<string>) {
  const named = async <T extends { user_id: string }>(one: T) => ({ user_email: await nameOf(one.user_id), ...one });
  const failures = await Promise.all(report.failures.map(named));
  const longest = report.longest && (await named(report.longest));
  const next =
    report.failed > 1
      ? ['mobility status']
      : failures.map((one) => `mobility doctor --user ${quotedName(one.user_email)}`);
  if (countOf(report, 'set_aside') > 0) next.push('mobility errors');
  return { ...report, failures, longest, next };
}

export function allReportText(report: NamedReport, { quiet }: { quiet: boolean }): string {
  const { stages, failures, longest, next } = report;
  const failed = failures.map((one) => userReportText({ uuid: one.user_id, user_email: one.user_email }, one));
  const others = report.failed - failures.length;
  if (others > 0) failed.push(`and ${counted(others, 'other failed user')}`);
  const summary = [...stageLines(stages), summaryText(report)];
  if (longest && report.users > 1) summary.push(`longest: ${longest.user_email}, ${workTimeText(longest.seconds)}`);
  const todo = next.length === 0 ? [] : [`next: ${next.join(', ')}`];
  return [...faultLines(stages), ...(quiet ? [] : summary), ...failed, ...todo].join('\n');
}

const countOf = ({ stages }: { stages: readonly StageReport[] }, name: string): number =>
  stages.reduce((sum, { counts }) => sum + (counts[name] ?? 0), 0);

export const faultsIn = (stages: readonly StageReport[]): number => countOf({ stages }, 'faults');

function faultLines(stages: readonly StageReport[]): string[] {
  const faults = faultsIn(stages);
  if (faults === 0) return [];
  const entries = counted(faults, 'entry', 'entries');
  return [`PROGRAM FAULT: a converter failed, ${entries} rejected, nothing is lost; see: mobility errors`];
}

/** Returns `3 users: 2 done, 1 with nothing new, 530 entries, 2 days changed, in 1.30 s`. */
export function summaryText(report: AllReport): string {
  const { users, done, nothing_new, busy, failed, seconds, stages } = report;
  const took = `in ${workTimeText(seconds)}`;
  if (users === 0) return 'no user is registered: see `mobility users add`';
  if (done + busy + failed === 0) return `${counted(users, 'user')}: nothing new, nothing written, ${took}`;
  const parts = [`${done} done`, `${nothing_new} with nothing new`];
  if (busy > 0) parts.push(`${busy} left to other runs`);
  if (failed > 0) parts.push(`${failed} failed`);
  if (faultsIn(stages) > 0) parts.push(`PROGRAM FAULT in ${counted(faultsIn(stages), 'entry', 'entries')}`);
  parts.push(counted(countOf(report, 'moved'), 'entry', 'entries'));
  const [aside, days] = [countOf(report, 'set_aside'), countOf(report, 'days_changed')];
  if (aside > 0) parts.push(`${aside.toLocaleString('en-US')} rejected`);
  parts.push(`${counted(days, 'day')} changed`);
  return `${counted(users, 'user')}: ${parts.join(', ')}, ${took}`;
}

function stageLines(stages: readonly StageReport[]): string[] {
  const rows = stages.flatMap(({ stage, seconds, counts, problems = [] }) => [
    [`  ${stage}`, workTimeText(seconds), countsText(counts)],
    ...problems.map((problem) => ['', '', `left out: ${problem}`]),
  ]);
  return rows.length === 0 ? [] : [table(rows, [1])];
}

/** Returns a text such as `moved 12, failed 1`. Leaves out counts of 0. */
function countsText(counts: Record<string, number>): string {
  const shown = Object.entries(counts).filter(([, count]) => count !== 0);
  const word = (name: string): string => (name === 'set_aside' ? 'rejected' : name.replaceAll('_', ' '));
  return shown.map(([name, count]) => `${word(name)} ${count.toLocaleString('en-US')}`).join(', ') || '-';
}
