import type { JsonObject } from '../../model/json.ts';
import { MobilityError } from '../../model/mobility-error.ts';
import { packText, unpackText } from '../chunks/pack.ts';
import type { Engine } from '../rows/rows.ts';
import { objectIn, readColumn } from '../rows/sums.ts';
import { type FeedRow, feedParts, feeds as table } from '../rows/tables.ts';
import type { Feeds } from '../store.ts';

/** Bytes of a part of a zip. A MongoDB document has at most 16 MiB. */
const partBytes = 8 * 1024 * 1024;

export function feeds(engine: Engine): Feeds {
  return {
    async add({ id, facts, index }, zip) {
      await removeUnlisted(engine);
      let count = 0;
      for await (const bytes of cut(zip, partBytes)) {
        count += 1;
        const part = { part: partName(id, count), feed: id, bytes };
        await engine.write(null, (rows) => rows.put(feedParts, [part]));
      }
      await engine.write(null, async (rows) => {
        // Another `add` may have removed these parts, because it removes all parts of feeds without
        // a row: an interrupted `add` may have left them.
        if ((await rows.total(feedParts, { feed: id })) !== count) {
          const text = 'expected all parts of the feed, found that another addition removed some: try again';
          throw new MobilityError('MOBILITY_STORE_BUSY', text);
        }
        await rows.put(table, [{ id, facts: JSON.stringify(facts), index: packText(index) }]);
      });
    },
    list: () =>
      engine.read(async (rows) => {
        const found = await rows.find(table, { where: {}, order: ['id'] }, ['id', 'facts']);
        return found.map((row) => {
          const facts = row.facts === 'null' ? null : objectIn<FeedRow, JsonObject>(table, row, 'facts');
          return { id: row.id, facts };
        });
      }),
    index: (id) =>
      engine.read(async (rows) => {
        const [row] = await rows.find(table, { where: { id } });
        if (row === undefined || row.facts === 'null') return null;
        return readColumn(table, row, 'index', () => unpackText(row.index));
      }),
    part: (id, number) =>
      engine.read(async (rows) => {
        const [row] = await rows.find(feedParts, { where: { part: partName(id, number) } });
        return row?.bytes ?? null;
      }),
    remove: (id) =>
      engine.write(null, async (rows) => {
        const [row] = await rows.find(table, { where: { id } }, ['facts']);
        if (row === undefined || row.facts === 'null') return false;
        await rows.put(table, [{ id, facts: 'null', index: packText('') }]);
        await rows.remove(feedParts, { feed: id });
        return true;
      }),
  };
}

const partName = (id: string, number: number): string => `${id}/${String(number).padStart(4, '0')}`;

async function removeUnlisted(engine: Engine): Promise<void> {
  await engine.write(null, async (rows) => {
    const listed = new Set((await rows.find(table, { where: {} }, ['id'])).map(({ id }) => id));
    const found = await rows.find(feedParts, { where: {} }, ['feed']);
    for (const feed of new Set(found.map((row) => row.feed))) {
      if (!listed.has(feed)) await rows.remove(feedParts, { feed });
    }
  });
}

async function* cut(bytes: AsyncIterable<Uint8Array>, size: number): AsyncGenerator<Uint8Array> {
  let held: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of bytes) {
    held.push(chunk);
    length += chunk.length;
    if (length < size) continue;
    let rest = Buffer.concat(held);
    for (; rest.length >= size; rest = rest.subarray(size)) yield rest.subarray(0, size);
    [held, length] = [[rest], rest.length];
  }
  if (length > 0) yield Buffer.concat(held);
}
