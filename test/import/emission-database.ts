// A made-up database of an e-mission server, in each form in which its operators have it.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { BSON, type Document } from 'mongodb';
import { convert } from '../../src/intake/converters/convert.ts';
import { simulateDays } from '../../src/simulate/simulate-day.ts';
import { words } from '../support/words.ts';

/** The people and what their phones pushed, and the documents of each collection. */
export type MadeUp = ReturnType<typeof madeUpDatabase>;

const day = '2024-03-12';

/**
 * An Android phone and an iPhone, with a day each: most entries long-term, some pending, some rejected, some duplicate.
 */
export function madeUpDatabase() {
  const people = [
    person('ada@example.org', '6a0d1f5e-8d0b-4a6e-9d9e-0c9f7a3b5c11', 3, 'android'),
    person('ira@example.org', '0b7e3b0a-52f4-4f63-8a0e-3f1f0a6f2d22', 4, 'ios'),
  ];
  const kinds = words('uuids Profiles timeseries timeseries_error usercache analysis_timeseries pipeline_state');
  const collections = Object.fromEntries(kinds.map((kind): [string, Document[]] => [`Stage_${kind}`, []]));
  for (const { user_email, uuid, subtype, platform, pushed } of people) {
    const id = binary(uuid, subtype);
    const last = pushed.at(-1)!.metadata.write_ts;
    const document = (value: object): Document => ({ _id: objectId(last), user_id: id, ...value });
    const longTerm = pushed.slice(0, -40).map((entry) => document(convert(entry)));
    collections.Stage_uuids!.push({ _id: objectId(last), user_email, uuid: id, update_ts: new Date(last * 1000) });
    collections.Stage_Profiles!.push(
      document({ curr_platform: platform, mpg_array: [32], pipeline_range: { start_ts: 1, end_ts: 2 } }),
    );
    collections.Stage_timeseries!.push(
      ...longTerm,
      ...longTerm.slice(0, 10).map((one) => ({ ...one, _id: objectId(last) })),
      document(serverMade('stats/pipeline_time', last)),
    );
    collections.Stage_usercache!.push(
      ...pushed.slice(-40).map(document),
      document({ metadata: { key: `diary/trips-${day}`, type: 'document', write_ts: last }, data: [] }),
    );
    const failed = {
      metadata: { key: 'manual/survey', platform, type: 'message', write_ts: last + 1 },
      data: { q: 'none' },
    };
    collections.Stage_timeseries_error!.push(document(failed));
    collections.Stage_analysis_timeseries!.push(document(serverMade('analysis/cleaned_trip', last)));
    collections.Stage_pipeline_state!.push(document({ pipeline_stage: 1, last_processed_ts: last }));
  }
  return { people, collections };
}

function person(user_email: string, uuid: string, subtype: number, platform: 'android' | 'ios') {
  const pushed = simulateDays({ platform, day, seed: user_email }, 1);
  return { user_email, uuid, subtype, platform, pushed: [...pushed].flat() };
}

const serverMade = (key: string, ts: number) => ({
  metadata: { key, platform: 'server', write_ts: ts },
  data: { name: 'USERCACHE', ts, reading: 0.1 },
});

const binary = (uuid: string, subtype: number) =>
  new BSON.Binary(Buffer.from(uuid.replaceAll('-', ''), 'hex'), subtype);

let made = 0;
function objectId(seconds: number): BSON.ObjectId {
  made += 1;
  return new BSON.ObjectId(Math.floor(seconds).toString(16).padStart(8, '0') + made.toString(16).padStart(16, '0'));
}

/** As `mongodump` leaves it; every other collection packed. */
export async function writeDump({ collections }: MadeUp, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [i, [name, documents]] of Object.entries(collections).entries()) {
    const bytes = Buffer.concat(documents.map((one) => BSON.serialize(one)));
    if (i % 2 === 0) await writeFile(join(folder, `${name}.bson.gz`), gzipSync(bytes));
    else await writeFile(join(folder, `${name}.bson`), bytes);
    await writeFile(join(folder, `${name}.metadata.json`), JSON.stringify({ collectionName: name, indexes: [] }));
  }
}

/** As `mongoexport` leaves it: lines in its relaxed dialect, and one list in the canonical one. */
export async function writeJson({ collections }: MadeUp, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [name, documents] of Object.entries(collections)) {
    const isList = name === 'Stage_timeseries';
    const texts = documents.map((one) => BSON.EJSON.stringify(one, { relaxed: !isList }));
    await writeFile(join(folder, `${name}.json`), isList ? `[${texts.join(',\n')}]` : texts.join('\n'));
  }
}
