// Figures over a study give nobody away: neither one of them, nor the difference of two.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { disclose } from '../../src/report/disclose.ts';
import { add, type PersonTally } from '../../src/report/tally.ts';
import { run as runProgram } from '../cli/kit.ts';

const least = 5;

/** People with some trips in some of six cells. */
const studies = fc
  .array(
    fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'), fc.integer({ min: 1, max: 40 })), {
      maxLength: 6,
    }),
    {
      maxLength: 25,
    },
  )
  .map((people) => {
    const tallies = new Map<string, PersonTally>();
    for (const [i, parts] of people.entries()) {
      const tally: PersonTally = new Map();
      for (const [cell, trips] of parts) add(tally, cell, { trips, metres: trips * 900, seconds: trips * 300 });
      if (tally.size > 0) tallies.set(`person ${i}`, tally);
    }
    return tallies;
  });

const peopleIn = (study: ReadonlyMap<string, PersonTally>, cells: ReadonlySet<string>): number =>
  [...study.values()].filter((tally) => [...tally.keys()].some((cell) => cells.has(cell))).length;

it('no figure stands for fewer than the least number of people, and what is not told does neither', () => {
  fc.assert(
    fc.property(studies, (study) => {
      const { all, cells, rest, withheld } = disclose(study, 'zone', least);
      const names = new Set([...study.values()].flatMap((tally) => [...tally.keys()]));
      for (const { cell } of cells) expect(peopleIn(study, new Set([cell]))).toBeGreaterThanOrEqual(least);
      const untold = new Set([...names].filter((name) => !cells.some(({ cell }) => cell === name)));
      expect(untold.size).toBe(withheld);
      // All minus what is told is the untold: it stands for nobody, or for enough, or nothing is told beside it.
      if (all !== null && cells.length > 0 && untold.size > 0)
        expect(peopleIn(study, untold)).toBeGreaterThanOrEqual(least);
      if (rest !== null) expect(peopleIn(study, untold)).toBeGreaterThanOrEqual(least);
      for (const { trips } of cells) expect(trips % least).toBe(0);
    }),
  );
});

it('a person who makes up more than half of a figure keeps it from being told', () => {
  const study = new Map<string, PersonTally>();
  for (let i = 0; i < 8; i++) {
    const tally: PersonTally = new Map();
    add(tally, 'Europe/Oslo', { trips: 1, metres: i === 0 ? 90_000 : 1000, seconds: 600 });
    study.set(`person ${i}`, tally);
  }
  expect(disclose(study, 'zone', least)).toEqual({ all: null, cells: [], rest: null, withheld: 1 });
});

it('reports a month of everybody as a table and as CSV, and too few people as nothing', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'mobility-report-'));
  try {
    const env = { MOBILITY_STORE: join(folder, 'store'), MOBILITY_LOG_DIR: join(folder, 'logs') };
    const run = (args: string[]) => runProgram(args, { env });
    await run(['simulate', '--users', '8', '--days', '2', '--from', '2024-03-04', '--seed', 'report']);
    await run(['pipeline', '--all']);
    const result = await run(['report', '--from', '2024-03', '--json']);
    expect(result, result.stderr).toMatchObject({ code: 0 });
    const [month] = JSON.parse(result.stdout);
    expect(month).toMatchObject({ month: '2024-03', by: 'mode', all: { people_at_least: 5 } });
    expect(month.cells.length).toBeGreaterThan(0);
    const csv = await run(['report', '--from', '2024-02', '--to', '2024-03', '--by', 'weekday', '--csv', '-']);
    expect(csv.stdout.split('\n')[0]).toBe('month,by,cell,people_at_least,trips,km,minutes');
    expect(csv.stdout).toContain('2024-03,weekday,Monday,5,');
    expect((await run(['report', '--from', '2024-03', '--least', '9'])).stdout).toContain('too few people');
    expect(await run(['report', '--from', '2024-13'])).toMatchObject({ code: 2 });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
