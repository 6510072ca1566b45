// Damage of the store that is known, or quickly seen, when a program starts.
import { isMobilityError } from '../model/errors.ts';
import type { Finding, LastCheck } from '../store/check.ts';
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
  const found = await lookAtStore(address, { milliseconds, signal }).catch((error) => {
    // What cannot be opened at all is told by who opens it.
    if (isMobilityError(error)) return [];
    throw error;
  });
  const known = last !== null && last.findings.length > 0 ? [lastCheckText(last, context.zone)] : [];
  return [...known, ...found.slice(0, mostFindings).map(foundText), ...moreText(found.length - mostFindings)];
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

const moreText = (more: number): string[] =>
  more > 0 ? [`and ${counted(more, 'more finding')}: mobility store check tells all`] : [];
