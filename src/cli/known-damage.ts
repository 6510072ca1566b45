// Damage of the store that is known, or quickly seen, when a program starts.
import { isMobilityError } from '../model/errors.ts';
import type { Finding, LastCheck, Looked, Unchecked } from '../store/check.ts';
import { lastCheckOf, lookAtStore } from '../store/open.ts';
import type { CommandContext } from './context.ts';
import { counted } from './output.ts';
import { minuteText } from './wording.ts';

const mostFindings = 3; // `store check` tells all

/** Lines for people about damage of the store, with what helps; none where nothing is known and nothing seen. */
export async function damageNotes(context: CommandContext, milliseconds: number): Promise<string[]> {
  const { store: address } = context.config();
  const { signal } = context;
  const last = await lastCheckOf(address);
  const { findings, unchecked } = await lookAtStore(address, { milliseconds, signal }).catch((error): Looked => {
    // What cannot be opened at all is told by who opens it.
    if (isMobilityError(error)) return { findings: [], unchecked: [] };
    throw error;
  });
  const known = last !== null && last.findings.length > 0 ? [lastCheckText(last, context.zone)] : [];
  return [
    ...known,
    ...findings.slice(0, mostFindings).map(foundText),
    ...moreText(findings.length - mostFindings),
    ...unchecked.slice(0, 1).map((one) => uncheckedText(one, unchecked.length - 1)),
  ];
}

/** `found 2 DAMAGED_ROW in timeseries-0.sqlite`, or that it found nothing. */
export function lastCheckText({ checked_ts, complete, findings, more }: LastCheck, zone: string): string {
  const when = minuteText(checked_ts, zone);
  if (findings.length === 0) return `the check of ${when} found nothing`;
  const parts = findings.map(({ code, file, count }) => `${count} ${code} in ${file}`);
  const rest = more > 0 ? `, and ${counted(more, 'more finding')}` : '';
  const part = complete ? '' : ' in a part of the store';
  return `the check of ${when} found${part}: ${parts.join(', ')}${rest}; mobility store check tells what helps`;
}

function foundText({ code, file, table, user_id, what, cure }: Finding): string {
  const where = [file, ...(table === null ? [] : [`table ${table}`]), ...(user_id === null ? [] : [`user ${user_id}`])];
  return `${code}: ${where.join(', ')}: ${what}; to mend it: ${cure}`;
}

/** The first file that could not be looked at: the others mostly have the same trouble. */
function uncheckedText({ file, code, what }: Unchecked, others: number): string {
  const also = others > 0 ? ` and ${counted(others, 'other file')}` : '';
  return `the look for damage could not read ${file}${also}: ${code}: ${what}`;
}

const moreText = (more: number): string[] =>
  more > 0 ? [`and ${counted(more, 'more finding')}: mobility store check tells all`] : [];
