// A CSV file of people -> the registry, line by line: a bad line is reported and the others go on.
import { parse } from 'csv-parse';
import { errorText, isMobilityError, MobilityError } from '../model/errors.ts';
import { isUuid } from '../model/ids.ts';
import { isUserName, shownName, tokenHash, userNameOf } from '../model/user.ts';
import type { Store } from '../store/store.ts';
import { checkedToken } from './tokens.ts';

/** What came of an import. */
export interface UsersReport {
  added: number;
  /** Registered before, with the same UUID. */
  present: number;
  failed: { line: number; user_email: string; message: string }[];
}

interface Row {
  line: number;
  email: string;
  uuid: string;
  token: string;
}

const atOnce = 64; // registrations that share the store's commits

/**
 * Registers the people of a CSV text with the header `user_email,uuid,token` (the last two optional, other columns
 * ignored). A mistake of CSV, such as a stray quote, fails its line and ends the text. Throws `MOBILITY_USAGE` for a
 * text without that header.
 */
export async function importUsers(
  store: Store,
  csv: AsyncIterable<Uint8Array | string>,
  now: number,
): Promise<UsersReport> {
  const report: UsersReport = { added: 0, present: 0, failed: [] };
  let batch: Row[] = [];
  const flush = async (): Promise<void> => {
    const rows = batch;
    batch = [];
    await Promise.all(rows.map((row) => registerRow(store, row, now, report)));
  };
  for await (const row of rowsOf(csv, (failed) => report.failed.push(failed))) {
    // The same person twice must keep their order, so that the second line is judged by what the first did.
    const known = batch.some(({ email, uuid }) => email === row.email || (uuid !== '' && uuid === row.uuid));
    if (known || batch.length === atOnce) await flush();
    batch.push(row);
  }
  await flush();
  report.failed.sort((a, b) => a.line - b.line);
  return report;
}

/** A record of the parser, and how many there are up to it. */
interface Parsed {
  record: string[];
  info: { lines: number; records: number };
}

async function* rowsOf(
  csv: AsyncIterable<Uint8Array | string>,
  onFailure: (failed: UsersReport['failed'][number]) => void,
): AsyncGenerator<Row> {
  const parser = parse({
    ...{ bom: true, info: true, relax_column_count: true, skip_empty_lines: true, trim: true },
    // An error would drop records that were read before it. Where the next record begins is not known, though.
    skip_records_with_error: true,
  });
  const mistakes: (Error & { records?: number })[] = [];
  parser.on('skip', (error: Error) => mistakes.push(error));
  let sourceError: unknown;
  const feeding = feed(csv, parser, () => mistakes.length > 0).catch((error) => {
    sourceError = error;
    parser.destroy();
  });
  let columns: Columns | null = null;
  let lines = 0;
  try {
    for await (const { record, info } of parser as AsyncIterable<Parsed>) {
      if (info.records > (mistakes[0]?.records ?? Infinity)) break;
      lines = info.lines;
      if (columns === null) columns = columnsOf(record);
      else if (record.some((cell) => cell !== '')) {
        yield {
          line: info.lines,
          email: record[columns.email] ?? '',
          uuid: (record[columns.uuid] ?? '').toLowerCase(),
          token: record[columns.token] ?? '',
        };
      }
    }
  } catch (error) {
    if (isMobilityError(error) || sourceError !== undefined) throw sourceError ?? error;
    throw notCsv(error);
  }
  await feeding;
  if (sourceError !== undefined) throw sourceError;
  if (mistakes.length > 0) {
    if (columns === null) throw notCsv(mistakes[0]);
    const message = `${notCsv(mistakes[0]).message}; nothing from this line on was read`;
    onFailure({ line: lines + 1, user_email: '', message });
  } else if (columns === null)
    throw new MobilityError('MOBILITY_USAGE', 'expected a header user_email,uuid, found an empty file');
}

const notCsv = (cause: unknown): MobilityError =>
  new MobilityError('MOBILITY_USAGE', `the file is not CSV: ${errorText(cause)}`, { cause });

/** Hands text on to the parser as fast as it takes it, until that is enough. */
async function feed(
  csv: AsyncIterable<Uint8Array | string>,
  parser: ReturnType<typeof parse>,
  isEnough: () => boolean,
): Promise<void> {
  for await (const chunk of csv) {
    if (parser.destroyed) return;
    if (isEnough()) break;
    if (!parser.write(chunk)) await new Promise((resolve) => parser.once('drain', resolve).once('close', resolve));
  }
  parser.end();
}

/** Where each column stands; -1: nowhere. */
interface Columns {
  email: number;
  uuid: number;
  token: number;
}

function columnsOf(header: readonly string[]): Columns {
  const email = header.indexOf('user_email');
  if (email >= 0) return { email, uuid: header.indexOf('uuid'), token: header.indexOf('token') };
  throw new MobilityError(
    'MOBILITY_USAGE',
    `expected a header user_email,uuid,token (the last two optional), found ${JSON.stringify(header.join(',')).slice(0, 100)}`,
  );
}

async function registerRow(store: Store, row: Row, now: number, report: UsersReport): Promise<void> {
  try {
    const email = checkedName(row.email, row.uuid);
    if (row.uuid !== '' && !isUuid(row.uuid)) throw uuidError(row.uuid);
    if (row.token !== '') checkedToken(row.token);
    const known = row.token === '' ? null : await store.tokens.byHash(tokenHash(row.token));
    const there = known && (await store.users.byUuid(known.user_id));
    if (there && there.user_email !== email)
      throw new MobilityError('MOBILITY_USAGE', 'the token belongs to another account');
    const { user, created } = await store.users.register(email, row.uuid === '' ? { now } : { uuid: row.uuid, now });
    if (row.token !== '' && known === null) {
      const made = { hash: tokenHash(row.token), user_id: user.uuid, created_ts: now, expires_ts: null };
      await store.tokens.add({ ...made, kind: 'imported' });
    }
    report[created ? 'added' : 'present']++;
  } catch (error) {
    if (!isMobilityError(error, 'MOBILITY_USAGE', 'MOBILITY_USER_EXISTS')) throw error;
    report.failed.push({ line: row.line, user_email: row.email, message: error.message });
  }
}

/**
 * The form in which a name is registered. Throws `MOBILITY_USAGE` for what can be nobody's name, also for a UUID that
 * is not the user's own: commands take names and UUIDs, and would mean another person.
 */
export function checkedName(text: string, uuid = ''): string {
  if (text === '') throw new MobilityError('MOBILITY_USAGE', 'expected a name, found nothing');
  const name = userNameOf(text);
  if (isUuid(name.toLowerCase()) && name.toLowerCase() !== uuid) {
    throw new MobilityError(
      'MOBILITY_USAGE',
      `expected a name that is no UUID, or the same UUID as the user's (--uuid), found ${JSON.stringify(name)}`,
    );
  }
  if (isUserName(name)) return name;
  throw new MobilityError(
    'MOBILITY_USAGE',
    `expected a name of at most 254 visible characters without blanks around it, found ${JSON.stringify(shownName(name.slice(0, 60)))}`,
  );
}

/** What is wrong with something that should be a UUID. */
export function uuidError(text: string): MobilityError {
  return new MobilityError(
    'MOBILITY_USAGE',
    `expected a UUID of 36 characters, found ${JSON.stringify(text.slice(0, 60))}`,
  );
}
