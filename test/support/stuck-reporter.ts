// What a test run was doing when it was ended from outside: files and tests that had begun and not ended.
import type { Reporter, TestCase, TestModule } from 'vitest/node';

/** Says what is still running when the run gets SIGTERM, so that a test that hangs fails under its name. */
export class StuckReporter implements Reporter {
  readonly #files = new Map<string, number>();
  readonly #tests = new Map<string, { name: string; file: string; since: number }>();

  onInit(): void {
    process.once('SIGTERM', () => {
      const lines = [...this.#files].flatMap(([file, since]) => [
        `!! STILL RUNNING: ${file}, for ${seconds(since)} s`,
        ...[...this.#tests.values()]
          .filter((test) => test.file === file)
          .map((test) => `!! STILL RUNNING:   ${test.name}, for ${seconds(test.since)} s`),
      ]);
      process.stdout.write(`\n${lines.join('\n')}\n`, () => process.exit(143));
    });
  }

  onTestModuleStart(module: TestModule): void {
    this.#files.set(module.moduleId, performance.now());
  }

  onTestModuleEnd(module: TestModule): void {
    this.#files.delete(module.moduleId);
  }

  onTestCaseReady(test: TestCase): void {
    this.#tests.set(test.id, { name: test.fullName, file: test.module.moduleId, since: performance.now() });
  }

  onTestCaseResult(test: TestCase): void {
    this.#tests.delete(test.id);
  }
}

const seconds = (since: number): number => Math.round((performance.now() - since) / 1000);
