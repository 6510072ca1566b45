// What to expect of a test run, and how far it is: at its start, and after each tenth of its files.
import type { Reporter, TestSpecification } from 'vitest/node';

/** Prints a line at the start of a run of many files, and one for each tenth of them. */
export class ProgressReporter implements Reporter {
  #files = 0;
  #ended = 0;
  #began = 0;

  onTestRunStart(specifications: readonly TestSpecification[]): void {
    [this.#files, this.#ended, this.#began] = [specifications.length, 0, performance.now()];
    if (this.#files < manyFiles) return;
    console.log(`\n${this.#files} files of tests: ${expected}\n`);
  }

  onTestModuleEnd(): void {
    this.#ended += 1;
    const isTenth = Math.floor((10 * this.#ended) / this.#files) > Math.floor((10 * (this.#ended - 1)) / this.#files);
    if (this.#files < manyFiles || !isTenth) return;
    const minutes = ((performance.now() - this.#began) / 60_000).toFixed(1);
    console.log(`\n${this.#ended} of ${this.#files} files, ${minutes} min\n`);
  }
}

const manyFiles = 120; // fewer are a choice
const expected = 'about five minutes on two free cores; `npm run test:quick` leaves out what starts processes';
