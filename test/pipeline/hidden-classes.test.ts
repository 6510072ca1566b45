// What a warm process makes of V8's hidden classes ("maps"): one that every run or put makes anew slows all code that
// reads such objects, and keeps alive what it refers to. See src/model/with-fields.ts.
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { buildProgram } from '../support/build.ts';

const rounds = 60;

/** Puts a day of a new person and runs the pipeline, so often, and marks the log of maps when half is done. */
const script = (program: string, store: string): string => `
  import { openStore, putBatch, runPipeline, silentLog, simulateDays } from ${JSON.stringify(program)};
  const store = await openStore(${JSON.stringify(store)});
  const days = ['android', 'ios'].map((platform) =>
    [...simulateDays({ platform, day: '2024-03-11', seed: 'classes' }, 1)].flat());
  const now = () => Date.now() / 1000;
  for (let round = 0; round < ${rounds}; round++) {
    const { user } = await store.users.register('user ' + round, { now: 1 });
    await putBatch(user.uuid, days[round % 2], { store, now });
    const { status, message } = await runPipeline(store, user.uuid, { log: silentLog, now });
    if (status !== 'done') throw new Error(message);
    // A mark in the log of maps: a property that no other object has.
    if (round === ${rounds / 2}) globalThis.mark = { halfOfTheRoundsAreDone: round };
  }
  await store.close();`;

it('puts and runs of a warm process share their hidden classes', { timeout: 60_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'mobility-classes-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const program = pathToFileURL(join(await buildProgram(), 'dist', 'index.js')).href;
  const log = join(folder, 'maps.log');
  const flags = ['--log-maps', `--logfile=${log}`, '--no-logfile-per-isolate', '--input-type=module'];
  await promisify(execFile)(process.execPath, [...flags, '-e', script(program, join(folder, 'store'))]);
  const lines = (await readFile(log, 'latin1')).split('\n').filter((line) => line.startsWith('map,'));
  const half = lines.findIndex((line) => line.includes('halfOfTheRoundsAreDone'));
  expect(half, 'the log of maps has the mark').toBeGreaterThan(0);
  // `map,Transition,<µs>,<from>,<to>,<pc>,<line>,<column>,prototype,<field>`: a hidden class that nobody else gets.
  const own = lines.slice(half).filter((line) => line.split(',')[8] === 'prototype');
  const fields = own.map((line) => line.split(',').slice(6, 10).join(' '));
  // Half of the rounds follow the mark: a literal that each run makes once would give nearly as many.
  expect(own.length, [...new Set(fields)].slice(0, 20).join('; ')).toBeLessThan(rounds / 4);
});
