// Recognises a file as strictly as its reader does: the reader must find an entry in the beginning of the file.
import type { FileFormat, FileReading } from './import-format.ts';
import type { SourceFile } from './source.ts';
import { SourceBroken } from './source-error.ts';
import { ZoneMissing } from './tracks/fields.ts';

export async function readsHead(read: FileFormat['read'], file: SourceFile, reading: FileReading): Promise<boolean> {
  const beginning: SourceFile = {
    ...file,
    bytes: async function* () {
      yield file.head;
    },
  };
  try {
    for await (const found of read(beginning, { ...reading, onBytes: () => {} })) if ('entry' in found) return true;
  } catch (error) {
    if (!(error instanceof SourceBroken)) throw error;
    return error instanceof ZoneMissing;
  }
  return false;
}
