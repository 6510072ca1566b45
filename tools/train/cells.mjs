// Features of every cell of recorded cases, computed by the program itself: node tools/train/cells.mjs CASES OUT [COPY]
// OUT gets <case>.f64 (cell time, then the features, row after row) and cases.json. COPY: a perturbation of perturb.mjs.
// CASES may be `made-up:SEED:DRAWS`: so many days of each kind and phone of made-up.mjs.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Track } from '../../dist/analysis/clean/track.js';
import {
  cellSeconds,
  cellWidth,
  featureLimits,
  featureNames,
  forEachBlock,
} from '../../dist/analysis/states/features.js';
import { casesIn } from './cases.mjs';
import { perturbations, perturbed } from './perturb.mjs';

const [folder, out, copy] = process.argv.slice(2);
if (!folder || !out || (copy !== undefined && !(copy in perturbations))) {
  console.error('usage: node tools/train/cells.mjs CASES OUT [COPY]; run `npm run build` before');
  console.error(`COPY: ${Object.keys(perturbations).join(', ')}`);
  process.exit(2);
}
mkdirSync(out, { recursive: true });

/** Time and features of every cell of a case, one after the other, from 20 minutes before its first location to 20 after its last. */
function cellsOf({ locations, motions }) {
  const rows = [];
  if (locations.length === 0) return rows;
  const [first, last] = [locations[0], locations.at(-1)];
  const { reach } = featureLimits;
  const input = { track: new Track(locations), motions, sampling: first.sampling };
  forEachBlock({ ...input, from: first.ts - reach, to: last.ts + reach }, ({ ts, count, rows: found }) => {
    for (let i = 0; i < count; i += 1)
      rows.push(Float64Array.of(ts + i * cellSeconds, ...found.subarray(i * cellWidth, (i + 1) * cellWidth)));
  });
  return rows;
}

const cases = [];
for (const one of casesIn(folder)) {
  const { name } = one;
  const { locations, motions, truth } = perturbed(one, copy);
  const rows = cellsOf({ locations, motions });
  const flat = new Float64Array(rows.length * (featureNames.length + 1));
  for (const [i, row] of rows.entries()) flat.set(row, i * row.length);
  writeFileSync(join(out, `${name}.f64`), Buffer.from(flat.buffer));
  const { platform, regime, timeline, range, trips } = truth;
  const date = new Date(range.start_ts * 1000).toISOString().slice(0, 10);
  cases.push({
    name,
    platform,
    regime,
    timeline,
    date,
    cells: rows.length,
    fixes: locations.map(({ ts }) => ts),
    trips,
  });
}
writeFileSync(join(out, 'cases.json'), JSON.stringify({ features: featureNames, cases }));
