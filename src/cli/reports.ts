// What a pipeline run did, as people read it.

import type { UserRecord } from '../model/user.ts';
import type { UserReport } from '../pipeline/run-pipeline.ts';
import type { StageReport } from '../pipeline/stage.ts';
import { table } from './output.ts';
import { workTimeText } from './wording.ts';

const headlines: Record<UserReport['status'], string> = {
  done: 'done',
  nothing_new: 'nothing new, nothing written',
  busy: 'held by another run',
  failed: 'failed',
};

/** `ada@example.org (uuid): done in 0.42 s`, and a line per stage with its seconds and counts. */
export function userReportText(user: Pick<UserRecord, 'uuid' | 'user_email'>, report: UserReport): string {
  const reason = report.message === undefined ? '' : `: ${report.message}`;
  const seconds = report.stages.length === 0 ? '' : ` in ${workTimeText(report.seconds)}`;
  const head = `${user.user_email} (${user.uuid}): ${headlines[report.status]}${seconds}${reason}`;
  return report.stages.length === 0 ? head : `${head}\n${stagesText(report.stages)}`;
}

function stagesText(stages: readonly StageReport[]): string {
  const rows = stages.flatMap(({ stage, seconds, counts, problems = [] }) => [
    [`  ${stage}`, workTimeText(seconds), countsText(counts)],
    ...problems.map((problem) => ['', '', `left out: ${problem}`]),
  ]);
  return table(rows, [1]);
}

/** `moved 12, failed 1`; counts of 0 are left out. */
export function countsText(counts: Record<string, number>): string {
  const told = Object.entries(counts).filter(([, count]) => count !== 0);
  return told.map(([name, count]) => `${name.replaceAll('_', ' ')} ${count.toLocaleString('en-US')}`).join(', ') || '-';
}
