// Measures how many locations the pure analysis processes in a second of CPU, on recorded or simulated days.
import { analyse } from '../dist/analysis/analyse.js';
import { caseNames, observationsOf, readCase } from '../dist/evaluate/cases.js';
import { simulateDays } from '../dist/index.js';
import { line } from './kit.js';

const rounds = 7;

/** Prints the rate of each kind of phone; `folder` holds recorded cases (see docs/quality.md). */
export function analysis({ folder }) {
  console.log(`\nanalysis: the pure analysis in process, ${rounds} rounds after one warm-up`);
  const kinds = folder
    ? { 'recorded cases': caseNames(folder).map((name) => readCase(folder, name)) }
    : { 'simulated Android days': simulated('android'), 'simulated iOS days': simulated('ios') };
  for (const [what, cases] of Object.entries(kinds)) {
    const locations = cases.reduce((sum, one) => sum + one.locations.length, 0);
    const once = () => {
      for (const one of cases) analyse({ userId: 'bench', ...one, carry: null, loadedUntil: Number.POSITIVE_INFINITY });
    };
    once();
    const rates = Array.from({ length: rounds }, () => {
      const before = process.cpuUsage();
      once();
      const { user, system } = process.cpuUsage(before);
      return locations / ((user + system) / 1e6);
    }).sort((a, b) => a - b);
    const shown = [rates[rounds >> 1], rates[0], rates.at(-1)].map((rate) => Math.round(rate).toLocaleString('en'));
    line(`${what}: locations a CPU second, median, least, most`, shown.join(', '));
  }
}

function simulated(platform) {
  const days = [...simulateDays({ platform, day: '2024-03-01', seed: 'bench' }, 60)];
  return [observationsOf(days.flat())];
}
