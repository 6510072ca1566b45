// The interface of a format: a writer of one table, row by row, in bounded memory.
import type { Column, Row } from '../columns.ts';

/** Receives bytes or text. `write` resolves when there is room for more. */
export interface Writer {
  write(piece: string | Uint8Array): Promise<void>;
}

export interface TableWriter {
  begin(): Promise<void>;
  /** Some rows, in order. */
  rows(rows: readonly Row[]): Promise<void>;
  end(): Promise<void>;
}

export type MakeTableWriter = (writer: Writer, columns: readonly Column[]) => TableWriter;
