// Features of every cell of recorded cases, computed by the program itself: node tools/train/cells.mjs CASES OUT
// [sparse] OUT gets <case>.f64 (cell time, then the features, row after row) and cases.json. `sparse` leaves the motion
// readings out.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { forEachCellOf } from '../../dist/analysis/sequence/case-cells.js';
import { featureNames } from '../../dist/analysis/sequence/features.js';
import { caseNames, readCase } from '../../dist/evaluate/cases.js';

const [folder, out, kind] = process.argv.slice(2);
if (!folder || !out || (kind !== undefined && kind !== 'sparse')) {
  console.error('usage: node tools/train/cells.mjs CASES OUT [sparse]; run `npm run build` before');
  process.exit(2);
}
mkdirSync(out, { recursive: true });
const cases = [];
for (const name of caseNames(folder)) {
  const one = readCase(folder, name);
  const { locations, motions, truth } = one;
  const rows = [];
  const readings = kind === 'sparse' ? [] : motions;
  forEachCellOf({ locations, motions: readings }, (ts, features) => rows.push(Float64Array.of(ts, ...features)));
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
