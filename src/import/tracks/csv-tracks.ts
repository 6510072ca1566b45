import { finished } from 'node:stream/promises';
import { parse } from 'csv-parse';
import { type FileFormat, type FileReading, type Found, readsHead, type SourceReadOptions } from '../import-format.ts';
import type { Bytes } from '../read/bytes.ts';
import type { SourceFile } from '../source.ts';
import { readUpTo, SourceBroken } from '../source-error.ts';
import { type Fields, fieldsIn, hasLocation, locate, personChecker } from './fields.ts';

export const csv: FileFormat = {
  name: 'csv',
  recognises: (file, reading) => headerIn(file.head, reading) !== null && readsHead(readCsv, file, reading),
  read: readCsv,
};

const origin = { program: 'csv' };
const delimiters = [',', ';', '\t', '|'];

const headerLines = 20; // lines that are searched for the header: some programs write `sep=;` or titles before it

/** null: no line has names for time, latitude and longitude. */
export function headerIn(head: Buffer, { columns }: FileReading): { line: number; delimiter: string } | null {
  const lines = head.toString('utf8').split(/\r\n|\n|\r/, headerLines);
  const names = (line: string, delimiter: string): string[] =>
    line.split(delimiter).map((name) => name.replace(/^[\ufeff\s]*"?|"?\s*$/g, ''));
  for (const [i, line] of lines.entries())
    for (const delimiter of delimiters)
      if (hasLocation(fieldsIn(names(line, delimiter), columns))) return { line: i + 1, delimiter };
  return null;
}

async function* readCsv(file: SourceFile, { onBytes, zone, columns }: SourceReadOptions): AsyncGenerator<Found> {
  const place = headerIn(file.head, { columns });
  if (place === null) {
    const expected = `column names for time, latitude and longitude in one of the first ${headerLines} lines`;
    const todo = 'name the columns, such as --columns time=when,lat=north,lon=east';
    throw new SourceBroken(`expected ${expected}, found no such line: ${todo}`, 'format');
  }
  let header: string[] | null = null;
  let fields: Fields = {};
  const checkPerson = personChecker();
  for await (const { record, line } of recordsOf(file.bytes(onBytes), place)) {
    if (header === null) {
      header = record;
      fields = fieldsIn(header, columns);
      continue;
    }
    const row = Object.fromEntries(header.map((name, i) => [name, record[i] ?? '']));
    checkPerson(row, fields, `line ${line}`);
    yield locate(row, fields, { origin, where: `line ${line}`, zone });
  }
}

async function* recordsOf(chunks: Bytes, { line, delimiter }: { line: number; delimiter: string }) {
  let records: { record: string[]; line: number }[] = [];
  const parser = parse({
    bom: true,
    relax_quotes: true,
    relax_column_count: true,
    skip_empty_lines: true,
    trim: true,
    delimiter,
    from_line: line,
    max_record_size: 1024 * 1024,
    on_record: (record: string[], { lines }) => {
      records.push({ record, line: lines });
      return null; // keeps the record out of the output of the parser: `records` has it
    },
  });
  const ended = finished(parser.resume()).catch((error: Error) => error);
  for await (const chunk of chunks) {
    if (parser.destroyed) break;
    parser.write(chunk);
    yield* records;
    records = [];
  }
  if (!parser.destroyed) parser.end();
  const error = await ended;
  yield* records;
  if (error) throw new SourceBroken(`expected CSV, found an error: ${error.message}; ${readUpTo}`);
}
