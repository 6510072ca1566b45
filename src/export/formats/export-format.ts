// A format writes a table in parts, so that its memory is bounded.
import type { Column, Row } from '../columns.ts';

/** `write` resolves when there is room for more. */
export type Writer = { write(piece: string | Uint8Array): Promise<void> };

export interface TableWriter {
  begin(): Promise<void>;
  rows(rows: readonly Row[]): Promise<void>;
  end(): Promise<void>;
}

export type MakeTableWriter = (writer: Writer, columns: readonly Column[]) => TableWriter;
