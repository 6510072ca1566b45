// Parquet, with GeoParquet metadata (version 1.1, WKB) if a table has a geometry.
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import type { Column, ColumnType, Geometry, Row, TableWriter, Writer } from '../columns.ts';
import { positionsOf, round, wkb } from '../geometry.ts';
import { instantOf } from '../instants.ts';

const groupSize = 10_000; // rows in memory

const physical: Record<ColumnType, object> = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  integer: { type: 'INT64' },
  number: { type: 'DOUBLE' },
  boolean: { type: 'BOOLEAN' },
  instant: {
    type: 'INT64',
    converted_type: 'TIMESTAMP_MILLIS',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
  },
  local: { type: 'INT64', logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: false, unit: 'MILLIS' } },
  day: { type: 'INT32', converted_type: 'DATE', logical_type: { type: 'DATE' } },
  geometry: { type: 'BYTE_ARRAY' },
  json: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
};

export function parquetWriter(writer: Writer, columns: readonly Column[]): TableWriter {
  const bytes = new ByteWriter();
  const schema = [
    { name: 'root', num_children: columns.length },
    ...columns.map(({ name, type }) => ({ name, repetition_type: 'OPTIONAL', ...physical[type] })),
  ];
  const file = new ParquetWriter({ writer: bytes, schema: schema as never, createdBy: 'mobility' });
  const shape = columns.find(({ type }) => type === 'geometry')?.name;
  const extent = new Extent();
  let held: Row[] = [];

  /** Empties the buffer of the library, which still counts offsets from the start of the file. */
  async function handOn(): Promise<void> {
    const piece = new Uint8Array(bytes.buffer.slice(0, bytes.index));
    bytes.index = 0;
    if (piece.byteLength > 0) await writer.write(piece);
  }

  async function writeGroup(): Promise<void> {
    if (held.length === 0) return;
    const columnData = columns.map((column) => ({
      name: column.name,
      data: held.map((row) => cell(column, row)),
      ...(column.type === 'geometry' && { statistics: false }),
    }));
    held = [];
    await file.write({ columnData: columnData as never, rowGroupSize: groupSize });
    await handOn();
  }

  return {
    begin: handOn,
    async rows(rows) {
      held.push(...rows);
      if (shape !== undefined) for (const row of rows) extent.add(row[shape] as Geometry | null | undefined);
      if (held.length >= groupSize) await writeGroup();
    },
    async end() {
      await writeGroup();
      if (shape !== undefined) file.kvMetadata = [{ key: 'geo', value: JSON.stringify(geoMetadata(shape, extent)) }];
      await file.finish();
      await handOn();
    },
  };
}

function cell({ name, type }: Column, row: Row): unknown {
  const value = row[name] ?? null;
  if (value === null) return null;
  if (type === 'integer') return BigInt(Math.round(value as number));
  if (type === 'instant') return instantOf(value as number);
  if (type === 'day') return new Date(`${value}T00:00:00Z`);
  if (type === 'local') return new Date(`${value}Z`);
  if (type === 'geometry') return wkb(value as Geometry);
  return type === 'json' ? JSON.stringify(value) : value;
}

class Extent {
  readonly types = new Set<string>();
  bounds: [west: number, south: number, east: number, north: number] = [Infinity, Infinity, -Infinity, -Infinity];

  add(geometry: Geometry | null | undefined): void {
    if (!geometry) return;
    this.types.add(geometry.type);
    for (const [longitude, latitude] of positionsOf(geometry)) {
      const [west, south, east, north] = this.bounds;
      const [x, y] = [round(longitude), round(latitude)];
      this.bounds = [Math.min(west, x), Math.min(south, y), Math.max(east, x), Math.max(north, y)];
    }
  }
}

function geoMetadata(column: string, { types, bounds }: Extent): object {
  const bbox = types.size > 0 && { bbox: bounds };
  const columns = { [column]: { encoding: 'WKB', geometry_types: [...types].sort(), ...bbox } };
  return { version: '1.1.0', primary_column: column, columns };
}
