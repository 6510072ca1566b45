// What a format is to the import: how it is recognised, and the stream of things found that it reads a source into.
import type { Pushed } from '../intake/put-batch.ts';
import type { JsonObject } from '../model/json.ts';
import type { Document, ErrorRow, UnusableEntry } from '../store/store.ts';
import type { SourceFile, SourceFolder } from './source.ts';

/** A person as a source names them. */
export interface SourcePerson {
  uuid: string;
  /** Name to log in with; without one they are registered under their UUID. */
  user_email?: string;
  /** Last update of the registration, seconds since the epoch. */
  update_ts?: number;
}

/** The owner of an element; null: the user for whom the import was called. */
export type Owner = SourcePerson | null;

/** One thing that a reader found. Everything counts as read but registrations, profiles and documents. */
export type Found =
  /** To be put. `received_ts`: when a service first received it, seconds since the epoch. */
  | { of: Owner; entry: Pushed; received_ts?: number }
  /** What a mapper could not make an entry of, with its reason. */
  | { of: Owner; unusable: UnusableEntry }
  /** An entry that another service rejected, with its history. */
  | { of: Owner; error: ErrorRow }
  /** A person to register even without entries. */
  | { of: SourcePerson; person: true }
  /** A profile; a user who already has one keeps it. */
  | { of: Owner; profile: JsonObject }
  | { of: Owner; document: Document }
  /** Left behind, because it is derived and the pipeline derives it again. */
  | { left: string }
  /** Rejected without an owner, or unreadable: the reason. */
  | { unread: string }
  /** What is doubtful of the whole source. Counts as nothing. */
  | { warning: string };

/** How files are read, where they do not say it themselves. */
export interface FileReading {
  /** IANA zone of times that have no offset. */
  zone?: string | undefined;
  /** Names of columns or properties, by the part of a fix that they hold. */
  columns?: Readonly<Record<string, string>> | undefined;
}

/** What a reader is given. */
export interface SourceReadOptions extends FileReading {
  /** Called with the number of bytes read from disk. */
  onBytes(count: number): void;
}

/** How a source says whose its entries are: by names and UUIDs, by UUIDs alone, or not at all. */
export type Naming = 'people' | 'uuids' | 'none';

/** Something to import: a file, a folder that is one whole, or a database. */
export interface Part {
  /** The name for people: the path, or the address without credentials. */
  name: string;
  format: string;
  /** Bytes on disk, for progress; null if unknown. */
  size: number | null;
  names: Naming;
  read(options: SourceReadOptions): AsyncIterable<Found>;
}

/** A format of single files. */
export interface FileFormat {
  /** What `--format` takes. */
  name: string;
  /** Default: `none`. */
  names?: Naming | ((file: SourceFile) => Naming);
  /** True for a file that begins as this format does. Its name counts only where the content cannot tell. */
  recognises(file: SourceFile, reading: FileReading): boolean | Promise<boolean>;
  read(file: SourceFile, options: SourceReadOptions): AsyncIterable<Found>;
}

/** A format of folders that are one whole. */
export interface FolderFormat {
  name: string;
  /** Default: `none`. */
  names?: Naming;
  recognises(folder: SourceFolder): boolean;
  /** Files of the folder that are read. */
  files(folder: SourceFolder): readonly string[];
  read(folder: SourceFolder, options: SourceReadOptions): AsyncIterable<Found>;
}
