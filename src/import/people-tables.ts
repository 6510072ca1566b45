// Reads tables of people: registers them line by line, and reads their weights.
import { parse } from 'csv-parse/sync';
import { checkedToken, isUuid } from '../model/ids.ts';
import { errorText, isMobilityError, type MobilityError, usageError } from '../model/mobility-error.ts';
import { isUserName, shownName, tokenHash, userNameOf } from '../model/user.ts';
import type { Store } from '../store/store.ts';

/** `present`: people who were registered before with the same UUID. */
export interface UsersReport {
  added: number;
  present: number;
  failed: { line: number; user_email: string; message: string }[];
}

type Row = { line: number } & Record<'email' | 'uuid' | 'token', string>;

const atOnce = 64; // registrations in parallel, which share commits of the store

/**
 * Registers the people in a CSV text with the header `user_email,uuid,token`, of which the last two
 * are optional. Invalid CSV, such as a quote in the middle of a field, is an error of its line; the
 * lines after it are not read. Throws `MOBILITY_USAGE` if the header is missing.
 */
export async function importUsers(store: Store, csv: string, now: number): Promise<UsersReport> {
  const report: UsersReport = { added: 0, present: 0, failed: [] };
  let batch: Row[] = [];
  const flush = async (): Promise<void> => {
    const rows = batch;
    batch = [];
    await Promise.all(rows.map((row) => registerRow(store, row, now, report)));
  };
  for (const row of rowsOf(csv, report)) {
    // Lines about one person are processed in order: the second may depend on the first.
    const isAgain = batch.some(({ email, uuid }) => email === row.email || (uuid !== '' && uuid === row.uuid));
    if (isAgain || batch.length === atOnce) await flush();
    batch.push(row);
  }
  await flush();
  report.failed.sort((a, b) => a.line - b.line);
  return report;
}

/** Recognises comma, semicolon (Excel in many countries) and tab, and a first line such as `sep=;`. */
function tableOptions(csv: string) {
  const [, stated] = /^\ufeff?sep=(.)/i.exec(csv) ?? [];
  const delimiter = stated ?? /^[^\n,]*?([;\t])/.exec(csv)?.[1] ?? ',';
  return { bom: true, delimiter, from_line: stated === undefined ? 1 : 2, skip_empty_lines: true, trim: true };
}

/** Reports the first syntax error. Later rows are not read, since their start is not certain. */
function rowsOf(csv: string, report: UsersReport): Row[] {
  let mistake: (Error & { records?: number }) | undefined;
  const parsed = parse(csv, {
    ...tableOptions(csv),
    info: true,
    relax_column_count: true,
    skip_records_with_error: true,
    on_skip: (error) => {
      mistake ??= error;
    },
  }) as unknown as { record: string[]; info: { lines: number; records: number } }[];
  const [header, ...records] = parsed.filter(({ info }) => info.records <= (mistake?.records ?? Infinity));
  if (mistake !== undefined) {
    const message = `the file is not CSV: ${errorText(mistake)}; this line and all later lines were not read`;
    if (header === undefined) throw usageError(message, { cause: mistake });
    report.failed.push({ line: (records.at(-1) ?? header).info.lines + 1, user_email: '', message });
  }
  const names = header?.record ?? [];
  const [email, uuid, token] = ['user_email', 'uuid', 'token'].map((name) => names.indexOf(name)) as number[];
  if (email === -1) {
    const found = JSON.stringify(names.join(',')).slice(0, 100);
    throw usageError(`expected a header user_email,uuid,token (the last two optional), found ${found}`);
  }
  const filled = records.filter(({ record }) => record.some((cell) => cell !== ''));
  return filled.map(({ record, info }) => {
    const [name = '', id = '', secret = ''] = [record[email!], record[uuid!], record[token!]];
    return { line: info.lines, email: name, uuid: id.toLowerCase(), token: secret };
  });
}

async function registerRow(store: Store, row: Row, now: number, report: UsersReport): Promise<void> {
  try {
    const email = checkedName(row.email, row.uuid);
    if (row.uuid !== '' && !isUuid(row.uuid)) throw uuidError(row.uuid);
    if (row.token !== '') checkedToken(row.token);
    const known = row.token === '' ? null : await store.tokens.byHash(tokenHash(row.token));
    const owner = known && (await store.users.byUuid(known.user_id));
    if (owner && owner.user_email !== email)
      throw usageError('expected a new token or a token of this account, found a token of another account');
    const { user, created } = await store.users.register(email, row.uuid === '' ? { now } : { uuid: row.uuid, now });
    if (row.token !== '' && known === null) {
      const token = { hash: tokenHash(row.token), user_id: user.uuid, created_ts: now, expires_ts: null };
      await store.tokens.add({ ...token, kind: 'imported' });
    }
    report[created ? 'added' : 'present']++;
  } catch (error) {
    if (!isMobilityError(error, 'MOBILITY_USAGE', 'MOBILITY_USER_EXISTS')) throw error;
    report.failed.push({ line: row.line, user_email: row.email, message: error.message });
  }
}

/** Returns the checked name. Refuses a UUID as a name, except the user's own, since commands accept both. */
export function checkedName(text: string, uuid = ''): string {
  if (text === '') throw usageError('expected a name, found nothing');
  const name = userNameOf(text);
  if (isUuid(name.toLowerCase()) && name.toLowerCase() !== uuid) {
    const expected = "a name that is not a UUID, or the same UUID as the user's (--uuid)";
    throw usageError(`expected ${expected}, found ${JSON.stringify(name)}`);
  }
  if (isUserName(name)) return name;
  const found = JSON.stringify(shownName(name.slice(0, 60)));
  throw usageError(`expected a name of at most 254 visible characters without blanks around it, found ${found}`);
}

export const uuidError = (text: string): MobilityError =>
  usageError(`expected a UUID of 36 characters, found ${JSON.stringify(text.slice(0, 60))}`);

const naming = ['user_id', 'pseudonym', 'user_name', 'user_email'];

/** Reads weights by name. Throws `MOBILITY_USAGE` if a column is missing or a weight is invalid. */
export function readWeights(csv: string): Map<string, number> {
  const rows = parse<Record<string, string>>(csv, { ...tableOptions(csv), columns: true });
  const names = Object.keys(rows[0] ?? {});
  const column = naming.find((name) => names.includes(name));
  if (column === undefined || !names.includes('weight'))
    throw usageError(`expected columns weight and ${naming.join(' or ')}, found ${names.join(', ') || 'none'}`);
  return new Map(
    rows.map((row, i) => {
      const weight = Number(row.weight!.replace(',', '.'));
      if (row.weight === '' || !(weight >= 0 && weight < Infinity))
        throw usageError(`expected a weight of 0 or more in row ${i + 1}, found ${JSON.stringify(row.weight)}`);
      return [row[column]!, weight];
    }),
  );
}
