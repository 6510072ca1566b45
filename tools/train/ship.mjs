// The models of the package, from all recorded cases: node tools/train/ship.mjs CASES CELLS FOLDER [PYTHON]
// Everything that was trained stays in FOLDER; the four files whose names end in `-2` belong into models/.
import { casesIn } from './cases.mjs';
import { Fitter } from './fold.mjs';

const [cases, cells, folder, python = 'python3'] = process.argv.slice(2);
if (!folder) {
  console.error(
    'usage: node tools/train/ship.mjs CASES CELLS FOLDER [PYTHON]; run `npm run build` and all-cells.sh before',
  );
  process.exit(2);
}
const recorded = new Map([...casesIn(cases)].map((one) => [one.name, one]));
const data = 'MobilityNet (47 cases, San Francisco Bay Area, 2019 and 2020), and made-up days';
const about = ['--data', data, '--licence', 'BSD 3-Clause', '--date', '2026-11-28'];
new Fitter({ cells, folder, python, recorded, about }).models('2', []);
