import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { expect, it } from 'vitest';
import { inLabelledMode } from '../../../src/diary/corrections/stated-mode.ts';
import { exactCells, readMonth } from '../../../src/figures/month-report.ts';
import { labelModes, studyLabels } from '../../../src/model/study-labels.ts';
import type { Section } from '../../../src/model/trip.ts';
import { simulatedProgram } from '../../cli/kit.ts';
import { correction } from '../../support/corrections.ts';
import { put } from '../../support/diary.ts';

const config = {
  label_lists: {
    MODE: [{ value: 'cargo', baseMode: 'BICYCLING' }, { value: 'bus', baseMode: 'OTHER' }, { value: 7 }, 'walk'],
    PURPOSE: [{ value: 'day_care' }],
    translations: { en: { cargo: 'Cargo bike' }, de: { cargo: 'Lastenrad' } },
  },
};

it('finds the mode of a label in the lists of the study, else by its name', () => {
  const [listed, usual] = [labelModes(config), labelModes(null)];
  const labels = ['cargo', 'bus', 'drove_alone', 'E-Bike', 'not_a_trip', 'unknown', 'constructor'];
  expect(labels.map(listed)).toEqual(['bicycling', null, 'car', 'bicycling', null, null, null]);
  expect(labels.map(usual)).toEqual([null, 'bus', 'car', 'bicycling', null, null, null]);
});

it('texts of the lists are in the requested language, else in English, else from the value', () => {
  const { modes, purposes } = studyLabels(config, 'de')!;
  expect(modes.map(({ value, words }) => `${value}: ${words}`)).toEqual(['cargo: Lastenrad', 'bus: bus']);
  expect(purposes).toEqual([{ value: 'day_care', words: 'day care' }]);
  expect(studyLabels(config, 'fr')!.modes[0]).toEqual({ value: 'cargo', words: 'Cargo bike' });
  for (const none of [null, {}, { label_lists: [] }]) expect(studyLabels(none, 'en')).toBe(null);
});

it('a label sets the mode of the only ride of a trip, or of a whole trip on foot, not of trips with two rides', () => {
  const trip = (...modes: string[]) => ({
    sections: modes.map((mode, i) => ({ sensed_mode: `PredictedModeTypes.${mode}`, distance: 100 + i }) as Section),
  });
  const modesAfter = (mode: string | null, ...modes: string[]): string[] =>
    inLabelledMode(trip(...modes), mode).sections.map(({ sensed_mode }) => sensed_mode.split('.')[1]!);
  expect(modesAfter('car', 'WALKING', 'BUS', 'WALKING')).toEqual(['WALKING', 'CAR', 'WALKING']);
  expect(modesAfter('walking', 'BUS')).toEqual(['WALKING']);
  expect(modesAfter('bicycling', 'WALKING', 'WALKING')).toEqual(['BICYCLING', 'BICYCLING']);
  expect(modesAfter('car', 'BUS', 'TRAIN')).toEqual(['BUS', 'TRAIN']);
  expect(modesAfter(null, 'BUS')).toEqual(['BUS']);
  expect(modesAfter('car')).toEqual([]);
});

it('exports and figures have the mode of a label, and exports the analysed mode beside it', async () => {
  const how = { now: Date.parse('2024-05-20T12:00:00Z') / 1000 };
  const program = await simulatedProgram('--users 1 --days 2 --from 2024-03-25 --seed labelled', how);
  const user = 'sim-labelled-1@example.org';
  const rows = async (kind: string, time: string): Promise<Record<string, string>[]> => {
    const out = join(program.folder, time);
    await program.succeed(`export --all --format csv --out ${out}`, how);
    return parse(await readFile(join(out, `${kind}.csv`), 'utf8'), { columns: true, bom: true });
  };
  const before = await rows('sections', 'before');
  const trips = [...new Set(before.map(({ trip_id }) => trip_id!))];
  const rides = (id: string) => before.filter(({ trip_id, mode }) => trip_id === id && mode !== 'walking');
  const id = trips.find((one) => rides(one).length === 1)!;
  const [ride] = rides(id);
  const modes = (): Promise<string[]> =>
    program.withStore(async (store) => exactCells(await readMonth(store, '2024-03', 'mode')).map(({ cell }) => cell));
  expect(await modes()).not.toContain('ferry');
  await program.succeed(`label --user ${user} --trip ${id} --mode ferry`, how);
  const [after] = (await rows('sections', 'after')).filter(({ section_id }) => section_id === ride!.section_id);
  expect(after).toMatchObject({ mode: 'ferry', mode_confirmed: 'ferry', sensed_mode: ride!.sensed_mode });
  const [trip] = (await rows('trips', 'again')).filter(({ trip_id }) => trip_id === id);
  expect(trip).toMatchObject({ mode: 'ferry', analysed_mode: ride!.mode, mode_confirmed: 'ferry' });
  expect(await modes()).toContain('ferry');

  // A split asks for the mode of both parts again.
  const walk = before.find(({ trip_id, mode }) => trip_id === id && mode === 'walking')!;
  const split = correction(how.now + 1, { kind: 'split', ts: Date.parse(walk.finished_at!) / 1000 });
  await program.withUser(user, (store, uuid) => put(store, uuid, [split]));
  const [half] = (await rows('sections', 'split')).filter(({ section_id }) => section_id === walk.section_id);
  expect(half).toMatchObject({ trip_id: id, mode: 'walking', mode_confirmed: '' });
});
