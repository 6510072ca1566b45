// Scores trips that other programs found in recorded cases by the definitions of docs/quality.md: node tools/compare/score.mjs CASES OUT
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { scoreCase, summarise } from '../../dist/evaluate/score.js';

const [cases, out] = process.argv.slice(2);
if (!cases || !out) {
  console.error('usage: node tools/compare/score.mjs CASES OUT; run others.py before');
  process.exit(2);
}
const read = (...path) => JSON.parse(readFileSync(join(...path), 'utf8'));
for (const program of readdirSync(out).sort()) {
  const scores = readdirSync(join(out, program)).map((file) => {
    const truth = read(cases, file.replace(/json$/, 'truth.json'));
    return scoreCase(
      truth,
      read(out, program, file).map((trip) => ({ ...trip, sections: [] })),
    );
  });
  console.log(program, JSON.stringify(summarise(scores)));
}
