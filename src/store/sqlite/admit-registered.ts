// Brings who is registered in a store of an earlier format to where their rows are written.
import { unescapeText } from '../../model/json-text.ts';
import { admitUser } from './ids.ts';
import type { Shards } from './rows.ts';

/** Admits every registered user of a store that an earlier program made, once. */
export async function admitRegistered(shards: Shards): Promise<void> {
  const registry = shards.first.usercache;
  for (const shard of shards.all) {
    const file = shard.usercache;
    const isDone = (): boolean => file.sql("SELECT 1 FROM about WHERE name = 'admitted'").get() !== undefined;
    if (await file.read(isDone)) continue;
    await file.write(() => {
      if (isDone()) return;
      const known = registry.sql('SELECT uuid FROM users').all<{ uuid: string }>();
      for (const uuid of known.map((row) => unescapeText(row.uuid)))
        if (shards.of(uuid) === shard) admitUser(file, uuid);
      file.sql("INSERT INTO about (name, value) VALUES ('admitted', '1')").run();
    });
  }
}
