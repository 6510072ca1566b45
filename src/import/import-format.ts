import type { Pushed } from '../intake/put-batch.ts';
import type { JsonObject } from '../model/json.ts';
import type { Document, ErrorRow, UnusableEntry } from '../store/store.ts';
import type { OnBytes } from './read/bytes.ts';
import type { SourceFile, SourceFolder } from './source.ts';
import { SourceBroken, type SourceProblem } from './source-error.ts';

export interface SourcePerson {
  uuid: string;
  /** If it is absent, the person is registered under the UUID. */
  user_email?: string;
  update_ts?: number; // last update of the registration, seconds since the epoch
}

/** null: the user for whom the import runs */
export type Owner = SourcePerson | null;

/** An item that a reader found. The count `read` includes entries, errors, skipped and unread items. */
export type Found =
  // An entry to put. `received_ts`: when a service first received it, seconds since the epoch.
  // `named`: its record names a person. The reader throws `SourceBroken` at a second person.
  | { owner: Owner; entry: Pushed; received_ts?: number; named?: true }
  | { owner: Owner; unusable: UnusableEntry } // a value that could not become an entry, with the reason
  | { owner: Owner; error: ErrorRow } // an entry that another service rejected, with its history
  | { owner: SourcePerson; person: true } // a person, to be registered even without entries
  | { owner: Owner; profile: JsonObject } // a profile; not stored if the user already has one
  | { owner: Owner; document: Document }
  /** The kind of a skipped item: the pipeline derives it again, or it is not about travel. */
  | { skipped: string }
  | { unread: string } // the reason why a part cannot be read, or an entry has no owner
  | { warning: string; kind: SourceProblem }; // a doubt about the whole source, for the user of the command

export interface FileReading {
  zone?: string | undefined; // IANA zone of times without an offset
  columns?: Readonly<Record<string, string>> | undefined;
}

export type SourceReadOptions = FileReading & { onBytes: OnBytes };

/** How a source identifies the owners of its entries. `people`: by names and UUIDs. */
export type Naming = 'people' | 'uuids' | 'none';

export interface Part {
  name: string; // the path, or the address without credentials
  format: string;
  size: number | null; // bytes on disk, for progress; null if unknown
  names: Naming;
  read(options: SourceReadOptions): AsyncIterable<Found>;
}

export interface FileFormat {
  name: string; // the value of `--format`
  names?: Naming | ((file: SourceFile) => Naming); // default: `none`
  /** The file's name counts only if its beginning is ambiguous. */
  recognises(file: SourceFile, reading: FileReading): boolean | Promise<boolean>;
  read(file: SourceFile, options: SourceReadOptions): AsyncIterable<Found>;
}

export interface FolderFormat {
  name: string;
  names?: Naming; // default: `none`
  recognises(folder: SourceFolder): boolean;
  files(folder: SourceFolder): readonly string[];
  read(folder: SourceFolder, options: SourceReadOptions): AsyncIterable<Found>;
}

/** True if the reader of a format finds an entry in the beginning of a file. */
export async function readsHead(read: FileFormat['read'], file: SourceFile, reading: FileReading): Promise<boolean> {
  const bytes = async function* () {
    yield file.head;
  };
  const options = { ...reading, onBytes: () => {} };
  try {
    for await (const found of read({ ...file, bytes }, options)) if ('entry' in found) return true;
  } catch (error) {
    if (!(error instanceof SourceBroken)) throw error;
    return error.kind === 'zone';
  }
  return false;
}
