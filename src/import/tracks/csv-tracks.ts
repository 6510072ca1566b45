// CSV of fixes with a header, of any program: its delimiter and the names of its columns are recognised.
import { finished } from 'node:stream/promises';
import { parse } from 'csv-parse';
import type { FileFormat, FileReading, Found, SourceReadOptions } from '../import-format.ts';
import { readsHead } from '../recognise.ts';
import type { SourceFile } from '../source.ts';
import { SourceBroken } from '../source-error.ts';
import { type Fields, fieldsIn, fixFound, isFix } from './fields.ts';

/** The import format `csv`. */
export const csv: FileFormat = {
  name: 'csv',
  recognises: (file, reading) => delimiterOf(file.head, reading) !== null && readsHead(readCsv, file, reading),
  read: readCsv,
};

const origin = { program: 'csv' };
const delimiters = [',', ';', '\t', '|'];

/** The delimiter with which the first line names time and place; null if none does. */
function delimiterOf(head: Buffer, { columns }: FileReading): string | null {
  const line = /^\ufeff?\s*([^\r\n]*)/.exec(head.toString('utf8'))![1]!;
  const names = (delimiter: string): string[] => line.split(delimiter).map((name) => name.replace(/^\s*"|"\s*$/g, ''));
  return delimiters.find((one) => isFix(fieldsIn(names(one), columns))) ?? null;
}

async function* readCsv(file: SourceFile, { onBytes, zone, columns }: SourceReadOptions): AsyncGenerator<Found> {
  const delimiter = delimiterOf(file.head, { columns });
  if (delimiter === null) {
    throw new SourceBroken(
      'expected columns for time, latitude and longitude in the first line, found others: ' +
        'name them, such as --columns time=when,lat=north,lon=east',
    );
  }
  let header: string[] | null = null;
  let fields: Fields = {};
  let person: string | null = null;
  for await (const { record, line } of recordsOf(file.bytes(onBytes), delimiter)) {
    if (header === null) {
      header = record;
      fields = fieldsIn(header, columns);
      continue;
    }
    const row = Object.fromEntries(header.map((name, i) => [name, record[i] ?? '']));
    const whose = fields.person === undefined ? '' : row[fields.person.name]!;
    person ??= whose;
    if (whose !== person) {
      throw new SourceBroken(
        `expected fixes of one person, found another in column ${JSON.stringify(fields.person!.name)} at line ${line}: ` +
          'cut the table by person, and import each part with its own --user',
      );
    }
    yield fixFound(row, fields, { origin, where: `line ${line}`, zone });
  }
}

/** The records of a table; after a mistake, those before it are given first. */
async function* recordsOf(
  chunks: AsyncIterable<Uint8Array>,
  delimiter: string,
): AsyncGenerator<{ record: string[]; line: number }> {
  let records: { record: string[]; line: number }[] = [];
  const parser = parse({
    bom: true,
    relax_quotes: true,
    relax_column_count: true,
    skip_empty_lines: true,
    trim: true,
    delimiter,
    max_record_size: 1024 * 1024,
    on_record: (record: string[], { lines }) => {
      records.push({ record, line: lines });
      return null; // nothing comes out of the stream itself
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
  if (error) throw new SourceBroken(`expected CSV, found a mistake: ${error.message}: everything before it was read`);
}
