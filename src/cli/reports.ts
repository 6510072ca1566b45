// What a pipeline run did, as people read it.
import type { UserRecord } from '../model/user.ts';
import type { AllReport } from '../pipeline/run-all.ts';
import type { UserReport } from '../pipeline/run-pipeline.ts';
import type { StageReport } from '../pipeline/stage.ts';
import { counted, table } from './output.ts';
import { workTimeText } from './wording.ts';

const headlines: Record<UserReport['status'], string> = {
  done: 'done',
  nothing_new: 'nothing new, nothing written',
  busy: 'another run has this user',
  failed: 'failed',
};

/** `ada@example.org (uuid): done in 0.42 s`, and a line per stage with its seconds and counts. */
export function userReportText(user: Pick<UserRecord, 'uuid' | 'user_email'>, report: UserReport): string {
  const reason = report.message === undefined ? '' : `: ${report.message}`;
  const seconds = report.stages.length === 0 ? '' : ` in ${workTimeText(report.seconds)}`;
  const head = `${user.user_email} (${user.uuid}): ${headlines[report.status]}${seconds}${reason}`;
  return [...faultLines(report.stages), head, ...stageLines(report.stages)].join('\n');
}

/** Failed users, a line per stage for all users together, and the summary. */
export function allReportText(report: AllReport, failures: readonly (UserReport & { user_email: string })[]): string {
  const failed = failures.map((one) => userReportText({ uuid: one.user_id, user_email: one.user_email }, one));
  const others = report.failed - failures.length;
  const more = others > 0 ? [`and ${counted(others, 'other failed user')}: see \`mobility status\``] : [];
  return [...faultLines(report.stages), ...failed, ...more, ...stageLines(report.stages), summaryText(report)].join(
    '\n',
  );
}

/** Entries that a converter set aside by failing. */
export const faultsIn = (stages: readonly StageReport[]): number =>
  stages.reduce((sum, { counts }) => sum + (counts.faults ?? 0), 0);

/** The first line of a summary if a converter failed; else none. */
function faultLines(stages: readonly StageReport[]): string[] {
  const faults = faultsIn(stages);
  if (faults === 0) return [];
  const entries = counted(faults, 'entry', 'entries');
  return [`PROGRAM FAULT: a converter failed, ${entries} set aside, nothing is lost: mobility errors`];
}

/** `3 users: 2 done, 1 with nothing new, 530 entries, in 1.30 s`; plain words when there was nothing to do at all. */
export function summaryText({ users, done, nothing_new, busy, failed, seconds, stages }: AllReport): string {
  const took = `in ${workTimeText(seconds)}`;
  if (users === 0) return 'no user is registered: see `mobility users add`';
  if (done + busy + failed === 0) return `${counted(users, 'user')}: nothing new, nothing written, ${took}`;
  const parts = [`${done} done`, `${nothing_new} with nothing new`];
  if (busy > 0) parts.push(`${busy} left to other runs`);
  if (failed > 0) parts.push(`${failed} failed`);
  if (faultsIn(stages) > 0) parts.push(`PROGRAM FAULT in ${counted(faultsIn(stages), 'entry', 'entries')}`);
  const entries = stages.reduce((sum, { counts }) => sum + (counts.moved ?? 0), 0);
  return `${counted(users, 'user')}: ${parts.join(', ')}, ${counted(entries, 'entry', 'entries')}, ${took}`;
}

function stageLines(stages: readonly StageReport[]): string[] {
  const rows = stages.flatMap(({ stage, seconds, counts, problems = [] }) => [
    [`  ${stage}`, workTimeText(seconds), countsText(counts)],
    ...problems.map((problem) => ['', '', `left out: ${problem}`]),
  ]);
  return rows.length === 0 ? [] : [table(rows, [1])];
}

/** `moved 12, failed 1`; counts of 0 are left out. */
function countsText(counts: Record<string, number>): string {
  const shown = Object.entries(counts).filter(([, count]) => count !== 0);
  return (
    shown.map(([name, count]) => `${name.replaceAll('_', ' ')} ${count.toLocaleString('en-US')}`).join(', ') || '-'
  );
}
