// Bodies of puts -> entries: by shapes of earlier entries against JSON.parse of each, in turns, and bodies in which no
// two entries are alike.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { AlikeEntries } from '../dist/intake/alike-entries.js';
import { takeEntry } from '../dist/intake/take-entry.js';
import { readJson } from '../dist/server/read-json.js';
import { bodyOf, line, locations, median, quantile } from './kit.js';

const warmUp = 10; // rounds

/** `folder`: recorded days, `*.put.json.gz` with the body of a put each. */
export function read({ folder, rounds = 40 } = {}) {
  console.log(`\nread: the body of a put, each entry parsed and by shapes in turns, ${rounds} rounds; CPU an entry`);
  compare('10,000 locations', [bodyOf('ada', locations(10_000, 1.7e9))], rounds);
  if (folder) compare('recorded days', recordedDays(folder), rounds);
  compare('10,000 entries, no two alike', [bodyOf('ada', strangers(10_000))], rounds);
}

const recordedDays = (folder) =>
  readdirSync(folder)
    .filter((file) => file.endsWith('.put.json.gz'))
    .map((file) => bodyOf('ada', JSON.parse(gunzipSync(readFileSync(join(folder, file)))).phone_to_server));

const strangers = (count) =>
  locations(count, 1.7e9).map(({ metadata, data }, i) => ({ metadata, data: { ...data, [`field ${i}`]: i } }));

function compare(what, bodies, rounds) {
  const list = { name: 'phone_to_server', read: takeEntry };
  const readers = [list, { ...list, alike: new AlikeEntries() }];
  const spent = readers.map(() => []);
  let entries = 0;
  for (let round = 0; round < warmUp + rounds; round++) {
    for (const i of round % 2 ? [0, 1] : [1, 0]) {
      const before = process.cpuUsage();
      entries = 0;
      for (const body of bodies) entries += readJson(body, readers[i]).list.length;
      const { user, system } = process.cpuUsage(before);
      if (round >= warmUp) spent[i].push((user + system) / entries);
    }
  }
  const [parsed, known] = spent;
  const ratios = known.map((cpu, i) => cpu / parsed[i]);
  line(`${what}: parsed, by shapes`, `${median(parsed).toFixed(2)} us, ${median(known).toFixed(2)} us`);
  const quartiles = [0.25, 0.75].map((q) => quantile(ratios, q).toFixed(2)).join(' to ');
  line('  ratio, median (quartiles)', `${median(ratios).toFixed(2)} x (${quartiles})`);
}
