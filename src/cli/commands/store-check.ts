// `mobility store check`: reads the whole store once and lists what is damaged.
import { Command } from 'commander';
import { checkStore } from '../../store/open.ts';
import type { CommandContext, Outcome } from '../context.ts';
import { counted } from '../output.ts';
import { workTimeText } from '../wording.ts';

/** Something in the store that is not as it was written. */
interface Finding {
  /** The UUID of the user whose row it is; null: it concerns everybody. */
  user_id: string | null;
  table: string;
  row: string;
  problem: string;
  /** What to do. */
  cure: string;
}

interface Checked {
  findings: Finding[];
  rows: number;
  /** Parts that could not be read, with the reason. */
  unchecked: string[];
  /** False: interrupted, or a part could not be read. */
  complete: boolean;
}

/** Checks the store and changes nothing. */
export function checkCommand(context: CommandContext): Command {
  return new Command('check')
    .description('check that everything in the store is as it was written')
    .addHelpText(
      'after',
      `
Examples:
  mobility store check
  mobility store check --store /var/backups/mobility/2026-11-21

The server and the pipeline can run meanwhile. Ctrl-C ends the check and shows what it has found.
Exit code 3: something is damaged. Exit code 1: a part of the store could not be read, such as a locked file.`,
    )
    .action(context.run(() => run(context)));
}

async function run(context: CommandContext): Promise<Outcome> {
  const { store } = context.config();
  const started = context.now();
  const progress = context.output.progress('checking');
  const checked = await check(store, context.interruptible(), progress.update).finally(() => progress.done());
  const seconds = context.now() - started;
  await context.output.result({ store, ...checked, seconds }, () => checkedText(checked, seconds));
  for (const text of checked.unchecked) context.output.note(`mobility: ${text}`);
  if (checked.unchecked.length > 0) return { exitCode: 1 };
  return checked.findings.length > 0 ? { exitCode: 3 } : {};
}

async function check(address: string, signal: AbortSignal, onProgress: (text: string) => void): Promise<Checked> {
  const report = await checkStore(address, { signal, onProgress });
  return {
    findings: report.findings.map(({ user_id, file, table, row, what, cure }) => {
      return { user_id, table: table ?? file, row: String(row ?? ''), problem: what, cure };
    }),
    rows: Object.values(report.rows).reduce((sum, count) => sum + count, 0),
    unchecked: report.unchecked.map(({ file, code, what }) => `${code}: ${file}: ${what}`),
    complete: report.complete,
  };
}

function checkedText({ findings, rows, complete }: Checked, seconds: number): string {
  const read = `${counted(rows, 'row')} read in ${workTimeText(seconds)}${complete ? '' : ', not the whole store'}`;
  const verdict = findings.length === 0 ? 'nothing damaged' : `${counted(findings.length, 'finding')}`;
  return [...findings.map(findingText), `${verdict}; ${read}`].join('\n');
}

function findingText({ user_id, table, row, problem, cure }: Finding): string {
  const where = [
    `table ${table}`,
    ...(row === '' ? [] : [`row ${row}`]),
    ...(user_id === null ? [] : [`user ${user_id}`]),
  ];
  return `${where.join(', ')}: ${problem}\n  cure: ${cure}`;
}
