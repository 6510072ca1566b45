// Writes the tables of an export: the rows of each kind for all people, in files of one format, and the manifest.
import { createHash, randomUUID } from 'node:crypto';
import { isMobilityError, type MobilityError } from '../model/mobility-error.ts';
import type { UserRecord } from '../model/user.ts';
import type { Store } from '../store/store.ts';
import { startSlices } from '../util/slices.ts';
import { codebook, Frequencies } from './codebook.ts';
import { type Column, type Kind, type Row, tables } from './columns.ts';
import { dataPackage, type Treatment, type WrittenTable } from './data-package.ts';
import type { Days } from './entry-rows.ts';
import type { Writer } from './formats/export-format.ts';
import { type FormatName, formats } from './formats/export-formats.ts';
import { type NameSet, renamed } from './name-mappings.ts';
import { idsUnderPseudonym, keyedPseudonym, type Person, underPseudonym } from './privacy.ts';
import { rowsOf } from './table-rows.ts';

/** What to export, and how. */
export interface TableExport {
  store: Store;
  /** The people. Called once for each kind. */
  people: () => AsyncIterable<UserRecord>;
  kinds: readonly Kind[];
  format: FormatName;
  /** The requested days of a person; default: all. */
  days?: (user: UserRecord) => Promise<Days>;
  keys?: readonly string[];
  names?: NameSet;
  /** Key of the pseudonyms; without it, names are exported unchanged. */
  pseudonymKey?: string;
  /** m; see `coarse.ts`. */
  coarse?: number;
  /** Seconds since the epoch. */
  now: number;
  /** Writes a file of the export, by its name in the folder. */
  file: (name: string, fill: (writer: Writer) => Promise<void>) => Promise<void>;
  /** Called after each person. */
  onPerson?: (kind: Kind, person: Person, rows: number) => void;
}

/** The most rows given to a writer at one time. */
const rowsAtOnce = 500;

const manifestName = 'datapackage.json';
const codebookName = 'codebook.html';

/** The names of the files that an export writes. */
export function tableFiles({ kinds, format, names }: Pick<TableExport, 'kinds' | 'format' | 'names'>): string[] {
  return [...kinds.map((kind) => fileOf(kind, format, names)), manifestName, codebookName];
}

function fileOf(kind: Kind, format: FormatName, names: TableExport['names']): string {
  return `${names ? renamed(kind, tables[kind], names).file : kind}.${formats[format].ending}`;
}

/** Thrown if rows of some people are damaged. The export can be repeated without these people. */
export class DamagedPeople extends Error {
  /** By UUID. */
  readonly people: ReadonlyMap<string, { user: UserRecord; error: MobilityError }>;
  /** Number of people without damaged rows. */
  readonly others: number;

  constructor(people: DamagedPeople['people'], others: number) {
    super(`expected sound rows, found damaged rows of ${people.size} people`);
    this.name = 'DamagedPeople';
    this.people = people;
    this.others = others;
  }
}

/**
 * Writes one file per kind, `datapackage.json` and `codebook.html`; returns the written tables. Throws `DamagedPeople`
 * after the last person: then the tables contain some rows of damaged people, manifest and codebook are missing.
 */
export async function exportTables(options: TableExport): Promise<WrittenTable[]> {
  const damaged: Damaged = new Map();
  const sound = new Set<string>();
  const versions = new Set<string>();
  // Ids in the store are hashes of exact times: an attacker could try all times near a coarse one.
  const idKey = options.pseudonymKey ?? (options.coarse === undefined ? undefined : randomUUID());
  const people = await inShownOrder(options);
  const format = formats[options.format];
  const makeWriter = await format.open();
  const written: (WrittenTable & { frequencies: Frequencies })[] = [];
  for (const kind of options.kinds) {
    const {
      columns,
      where,
      row: shown,
    } = options.names
      ? renamed(kind, tables[kind], options.names)
      : { columns: tables[kind], where: () => true, row: (row: Row) => row };
    const path = fileOf(kind, options.format, options.names);
    await options.file(path, async (writer) => {
      const counted = counting(writer);
      const table = makeWriter(counted, columns as Column[]);
      const frequencies = new Frequencies(columns);
      let rows = 0;
      await table.begin();
      for await (const batch of batches({ ...options, people, idKey }, kind, { damaged, sound, versions })) {
        const named = batch
          .filter(where)
          .map(shown)
          .map((row) => inPrecision(row, columns));
        rows += named.length;
        for (const row of named) frequencies.add(row);
        await table.rows(named);
      }
      await table.end();
      const file = { bytes: counted.bytes(), sha256: counted.sha256() };
      written.push({ kind, path, format, columns, rows, ...file, frequencies });
    });
  }
  if (damaged.size > 0) throw new DamagedPeople(damaged, sound.size);
  const treatment: Treatment = {
    pseudonyms: options.pseudonymKey !== undefined,
    coarse: options.coarse ?? null,
    names: options.names ?? null,
  };
  const created = new Date(options.now * 1000).toISOString();
  const isWhole = options.days === undefined;
  const manifest = dataPackage(written, treatment, { created, versions: [...versions].sort(), isWhole });
  await options.file(manifestName, (writer) => writer.write(manifest));
  const hidden = [
    treatment.pseudonyms && 'People have pseudonyms.',
    treatment.coarse && `Stays are in cells of ${treatment.coarse} m.`,
  ];
  const page = codebook(written, { created, treatment: hidden.filter(Boolean).join(' ') });
  await options.file(codebookName, (writer) => writer.write(page));
  return written;
}

/**
 * The people, sorted by their pseudonyms if they have any. The store lists them by UUID. In that order, their positions
 * in the list would identify them to a reader who has the UUIDs, or an export under another key.
 */
async function inShownOrder({ store, people, pseudonymKey }: TableExport): Promise<TableExport['people']> {
  if (pseudonymKey === undefined) return people;
  const uuids = new Map<string, string>();
  for await (const { uuid } of people()) uuids.set(keyedPseudonym(uuid, pseudonymKey), uuid);
  const order = [...uuids.keys()].sort();
  return async function* () {
    for (const pseudonym of order) {
      const user = await store.users.byUuid(uuids.get(pseudonym)!);
      if (user !== null) yield user;
    }
  };
}

/** The options, with the key for the ids of rows; without a key, ids are exported unchanged. */
type KeyedExport = TableExport & { idKey: string | undefined };

type Damaged = Map<string, { user: UserRecord; error: MobilityError }>;

/** Rows of a kind for all people. Adds people to `damaged` or `sound`, and analysis versions to `versions`. */
async function* batches(
  options: KeyedExport,
  kind: Kind,
  { damaged, sound, versions }: { damaged: Damaged; sound: Set<string>; versions: Set<string> },
): AsyncGenerator<Row[]> {
  for await (const user of options.people()) {
    if (damaged.has(user.uuid)) continue;
    try {
      const { analysis_version: latest, retained } = await options.store.pipeline.get(user.uuid);
      for (const { version } of retained?.versions ?? []) versions.add(version);
      if (latest !== null) versions.add(latest);
      yield* batchesOf(options, kind, user);
      sound.add(user.uuid);
    } catch (error) {
      if (!isMobilityError(error, 'MOBILITY_STORE_DAMAGED')) throw error;
      damaged.set(user.uuid, { user, error });
      sound.delete(user.uuid);
    }
  }
}

async function* batchesOf(options: KeyedExport, kind: Kind, user: UserRecord): AsyncGenerator<Row[]> {
  const { store, days, keys, coarse, pseudonymKey, idKey } = options;
  const shown = idKey === undefined ? (row: Row) => row : idsUnderPseudonym(idKey);
  const plain = personOf(user);
  const person = pseudonymKey === undefined ? plain : underPseudonym(plain, pseudonymKey);
  const source = {
    store,
    person,
    days: (await days?.(user)) ?? {},
    now: options.now,
    homes: options.kinds.includes('locations'),
    ...(keys && { keys }),
    ...(coarse !== undefined && { coarse }),
  };
  const slices = startSlices();
  let batch: Row[] = [];
  let rows = 0;
  for await (const row of rowsOf(kind, source)) {
    batch.push(shown(row));
    rows += 1;
    if (slices.isOver()) await slices.next();
    if (batch.length < rowsAtOnce) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
  options.onPerson?.(kind, person, rows);
}

function personOf(user: UserRecord): Person {
  const { uuid, user_email: name, subgroup, joined_ts } = user;
  return { uuid, id: uuid, name, subgroup: subgroup ?? null, ...(joined_ts !== undefined && { joined_ts }) };
}

/** Decimals of numbers by unit. Numbers with other units have four. */
const decimals: Record<string, number> = { m: 2, s: 3, 'm/s': 3, 'km/h': 3, degree: 7 };

/** Rounds the numbers of a row to their precision. */
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

/** A writer that also counts and hashes its bytes. */
function counting(writer: Writer): Writer & { bytes: () => number; sha256: () => string } {
  const hash = createHash('sha256');
  let bytes = 0;
  return {
    async write(piece) {
      const buffer = typeof piece === 'string' ? Buffer.from(piece) : piece;
      hash.update(buffer);
      bytes += buffer.byteLength;
      await writer.write(piece);
    },
    bytes: () => bytes,
    sha256: () => hash.digest('hex'),
  };
}
