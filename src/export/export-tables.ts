// Writes the tables of an export for all people, in files of one format, and the manifest.
import { createHash, randomUUID } from 'node:crypto';
import type { UserRecord } from '../model/user.ts';
import type { Store } from '../store/store.ts';
import { startSlices } from '../util/slices.ts';
import { codebook, countRow, type Frequencies, noFrequencies } from './codebook.ts';
import { type Column, type Kind, type MakeTableWriter, type Row, tables, type Writer } from './columns.ts';
import { dataPackage, type Treatment, type WrittenTable } from './data-package.ts';
import type { Days } from './entry-rows.ts';
import { type FormatName, formats } from './formats/export-formats.ts';
import { type NameSet, renamed } from './name-mappings.ts';
import { idsUnderPseudonym, keyedPseudonym, type Person } from './privacy.ts';
import { rowsOf } from './table-rows.ts';

/** Has plain values only, so that another process can make the rows. */
export interface TableChoice {
  kinds: readonly Kind[];
  keys?: readonly string[] | undefined;
  names?: NameSet | undefined;
  pseudonymKey?: string | undefined; // key of the pseudonyms; without it, names are exported unchanged
  coarse?: number | undefined; // m; see `coarse.ts`
  /** Key that hides ids of rows. Default: `pseudonymKey`; without it, a random key if the export is coarse. */
  idKey?: string | undefined;
  now: number; // seconds since the epoch
}

/** `fill` writes the content of a file. The next file may begin when this file has ended. */
export type ExportFile = (name: string, fill: (writer: Writer) => Promise<void>) => Promise<void>;

/** Some rows of a person in a table, or the versions of the analysis that made the trips. */
export type PersonPart = { versions: string[] } | { kind: Kind; rows: Row[] };

const rowsAtOnce = 500;
const manifestName = 'datapackage.json';
const codebookName = 'codebook.html';

export function tableFiles({ kinds, names }: Pick<TableChoice, 'kinds' | 'names'>, format: FormatName): string[] {
  return [...kinds.map((kind) => fileOf(kind, format, names)), manifestName, codebookName];
}

const fileOf = (kind: Kind, format: FormatName, names: NameSet | undefined): string =>
  `${tableOf(kind, names).file}.${formats[format].ending}`;

const tableOf = (kind: Kind, names: NameSet | undefined): ReturnType<typeof renamed> =>
  names === undefined
    ? { file: kind, columns: [...tables[kind]], where: () => true, row: (row) => row }
    : renamed(kind, tables[kind], names);

/** Opens all files, then calls `work`. The calls of `file` are nested: each closes its file at its end. */
export async function withFiles(
  file: ExportFile,
  names: readonly string[],
  work: (writers: readonly Writer[]) => Promise<void>,
  open: readonly Writer[] = [],
): Promise<void> {
  const name = names[open.length];
  if (name === undefined) return work(open);
  await file(name, (writer) => withFiles(file, names, work, [...open, writer]));
}

type TableFiles = TableChoice & { format: FormatName; file: ExportFile };

/** `groups`: the kinds that are written at one time. `isWhole`: the export has all days. */
export async function writeTables(
  { kinds, names, format: formatName, file, now, pseudonymKey, coarse }: TableFiles,
  { groups = [kinds], isWhole }: { groups?: readonly (readonly Kind[])[]; isWhole: boolean },
  partsOf: (group: readonly Kind[]) => AsyncIterable<AsyncIterable<PersonPart>>,
): Promise<WrittenTable[]> {
  const versions = new Set<string>();
  const format = formats[formatName];
  const makeWriter = await format.open();
  const written: (WrittenTable & { frequencies: Frequencies })[] = [];
  for (const group of groups) {
    const paths = group.map((kind) => fileOf(kind, formatName, names));
    await withFiles(file, paths, async (writers) => {
      const open = new Map<Kind, Awaited<ReturnType<typeof openTable>>>();
      for (const [i, kind] of group.entries())
        open.set(kind, await openTable(writers[i]!, tableOf(kind, names).columns, makeWriter));
      for await (const parts of partsOf(group)) {
        for await (const part of parts) {
          if ('versions' in part) for (const version of part.versions) versions.add(version);
          else await open.get(part.kind)!.add(part.rows);
        }
      }
      for (const [i, [kind, table]] of [...open].entries())
        written.push({ kind, path: paths[i]!, format, ...(await table.end()) });
    });
  }
  const hasPseudonyms = pseudonymKey !== undefined;
  const treatment: Treatment = { pseudonyms: hasPseudonyms, coarse: coarse ?? null, names: names ?? null };
  const created = new Date(now * 1000).toISOString();
  const manifest = dataPackage(written, treatment, { created, versions: [...versions].sort(), isWhole });
  await file(manifestName, (writer) => writer.write(manifest));
  const hidden = [hasPseudonyms && 'People have pseudonyms.', coarse && `Stays are in cells of ${coarse} m.`];
  const page = codebook(written, { created, treatment: hidden.filter(Boolean).join(' ') });
  await file(codebookName, (writer) => writer.write(page));
  return written;
}

async function openTable(writer: Writer, columns: readonly Column[], makeWriter: MakeTableWriter) {
  const hash = createHash('sha256');
  const frequencies = noFrequencies(columns);
  let [rows, bytes] = [0, 0];
  const counted: Writer = {
    async write(piece) {
      const buffer = typeof piece === 'string' ? Buffer.from(piece) : piece;
      hash.update(buffer);
      bytes += buffer.byteLength;
      await writer.write(piece);
    },
  };
  const table = makeWriter(counted, columns);
  await table.begin();
  return {
    async add(some: readonly Row[]): Promise<void> {
      rows += some.length;
      for (const row of some) countRow(frequencies, row);
      await table.rows(some);
    },
    async end() {
      await table.end();
      return { columns, rows, bytes, sha256: hash.digest('hex'), frequencies };
    },
  };
}

type StreamedTables = TableFiles & { store: Store; people: () => AsyncIterable<UserRecord>; days: Days };

/** Writes one table after another. Keeps no rows, so it reads each person again for each table. */
export function exportTables({ store, people, days, ...files }: StreamedTables): Promise<WrittenTable[]> {
  const choice = { ...files, idKey: keyOfIds(files) };
  const groups = choice.kinds.map((kind) => [kind]);
  return writeTables(choice, { groups, isWhole: false }, async function* (kinds) {
    for await (const user of inShownOrder(store, people(), choice.pseudonymKey))
      yield personParts(store, user, days, choice, kinds);
  });
}

/**
 * Sorts the people by pseudonym if the export has pseudonyms. The store lists people by UUID: in
 * that order, a reader who has the UUIDs could identify people by their positions in the list.
 */
export async function* inShownOrder({ users }: Store, people: AsyncIterable<UserRecord>, pseudonymKey?: string) {
  if (pseudonymKey === undefined) return yield* people;
  const uuids = new Map<string, string>();
  for await (const { uuid } of people) uuids.set(keyedPseudonym(uuid, pseudonymKey), uuid);
  for (const pseudonym of [...uuids.keys()].sort()) {
    const user = await users.byUuid(uuids.get(pseudonym)!);
    if (user !== null) yield user;
  }
}

/**
 * undefined: ids stay unchanged. Coarse times need a key: an id is a hash of the exact time, so an
 * attacker could try all times near the coarse time.
 */
const keyOfIds = ({ pseudonymKey, coarse }: TableChoice): string | undefined =>
  pseudonymKey ?? (coarse === undefined ? undefined : randomUUID());

export async function* personParts(
  store: Store,
  user: UserRecord,
  days: Days,
  choice: TableChoice,
  kinds = choice.kinds,
) {
  const { keys, names, coarse, pseudonymKey, now, idKey = keyOfIds(choice) } = choice;
  const { analysis_version: latest, retained } = await store.pipeline.get(user.uuid);
  const retainedVersions = (retained?.versions ?? []).map(({ version }) => version);
  yield { versions: latest === null ? retainedVersions : [...retainedVersions, latest] };
  const shown = idKey === undefined ? (row: Row) => row : idsUnderPseudonym(idKey);
  const person = personOf(user, pseudonymKey);
  const source = { store, person, days, now, keys, coarse, homes: choice.kinds.includes('locations') };
  const slices = startSlices();
  const batches = new Map(kinds.map((kind) => [kind, [] as Row[]]));
  const partOf = (kind: Kind): PersonPart => {
    const { columns, where, row } = tableOf(kind, names);
    const kept = batches.get(kind)!.splice(0).filter(where);
    return { kind, rows: kept.map((one) => inPrecision(row(one), columns)) };
  };
  for await (const [kind, row] of rowsOf(kinds, source)) {
    const count = batches.get(kind)!.push(shown(row));
    if (slices.isOver()) await slices.next();
    if (count === rowsAtOnce) yield partOf(kind);
  }
  for (const [kind, batch] of batches) if (batch.length > 0) yield partOf(kind);
}

function personOf({ uuid, user_email, subgroup, joined_ts }: UserRecord, key: string | undefined): Person {
  const pseudonym = key === undefined ? undefined : keyedPseudonym(uuid, key);
  return { uuid, id: pseudonym ?? uuid, name: pseudonym ?? user_email, subgroup: subgroup ?? null, joined_ts };
}

const decimals: Record<string, number> = { m: 2, s: 3, 'm/s': 3, 'km/h': 3, degree: 7 };

function inPrecision(row: Row, columns: readonly Column[]): Row {
  const rounded: Row = { ...row };
  for (const { name, type, unit } of columns) {
    const value = row[name];
    if (type !== 'number' || typeof value !== 'number') continue;
    const scale = 10 ** (decimals[unit ?? ''] ?? 4);
    rounded[name] = Math.round(value * scale) / scale;
  }
  return rounded;
}
