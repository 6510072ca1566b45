import { everyCorrectedLink } from '../diary/corrections/corrected-trips.ts';
import { readInputs } from '../diary/labels/read-inputs.ts';
import { keys } from '../model/keys.ts';
import { type ModeClass, modeClass } from '../model/modes.ts';
import { maxTime } from '../model/time.ts';
import type { Section } from '../model/trip.ts';
import type { Store } from '../store/store.ts';
import { type Interval, overlap } from './intervals.ts';

export interface LabelScore {
  labels: number;
  right: number; // labels for which the diary has the same mode on the longest part of the path
  share: number;
  interval: [from: number, to: number];
  said: number; // mean probability that the diary gives to its modes
  instead: Partial<Record<ModeClass, number>>; // labels for other modes, by the diary's mode
}

export interface LabelsReport {
  people: number;
  all: LabelScore;
  modes: Partial<Record<ModeClass, LabelScore>>;
  not_compared: Record<string, number>; // labels that name no mode of the diary, by text
  without_trip: number;
}

type Compared = { label: ModeClass; found: ModeClass; probability: number };

const z = 1.96; // the 0.975 quantile of the normal distribution

/** Returns Wilson's 95 % interval of `right / of`, also valid near 0 and 1 and for few labels. */
export function wilson(right: number, of: number): [from: number, to: number] {
  const share = right / of;
  const middle = (share + z ** 2 / (2 * of)) / (1 + z ** 2 / of);
  const half = (z / (1 + z ** 2 / of)) * Math.sqrt((share * (1 - share)) / of + z ** 2 / (4 * of ** 2));
  return [Math.max(0, middle - half), Math.min(1, middle + half)];
}

export async function evaluateLabels(store: Store, people: AsyncIterable<{ uuid: string }>): Promise<LabelsReport> {
  const compared: Compared[] = [];
  const report = { people: 0, not_compared: {} as Record<string, number>, without_trip: 0 };
  for await (const { uuid } of people) {
    report.people += 1;
    for (const { text, mode, byMode } of await labelsOf(store, uuid)) {
      if (mode === 'other') report.not_compared[text] = (report.not_compared[text] ?? 0) + 1;
      else if (byMode.size === 0) report.without_trip += 1;
      else compared.push({ label: mode, ...longestMode(byMode) });
    }
  }
  const modes = [...new Set(compared.map(({ label }) => label))].sort();
  const scores = modes.map((mode) => [mode, scoreOf(compared.filter(({ label }) => label === mode))]);
  return { ...report, all: scoreOf(compared), modes: Object.fromEntries(scores) };
}

/** Metres by mode of the diary. `weighted`: metres times the probability of the mode. */
type MetresByMode = Map<ModeClass, { metres: number; weighted: number }>;

type Label = Interval & { text: string; mode: ModeClass; byMode: MetresByMode };

async function labelsOf(store: Store, uuid: string): Promise<Label[]> {
  const inputs = await readInputs(store, uuid, { from: 0, to: maxTime });
  const newestFirst = inputs
    .filter(({ of }) => of.key === keys.modeConfirm)
    .sort((a, b) => b.entry.metadata.write_ts - a.entry.metadata.write_ts);
  const labels: Label[] = [];
  for (const { entry, start, end } of newestFirst) {
    if (start === null || end === null) continue;
    const isReplaced = labels.some((later) => overlap(later, { start, end }) > 0.5 * (end - start));
    const text = String(entry.data.label ?? '');
    if (!isReplaced) labels.push({ text, mode: labelClass(text), start, end, byMode: new Map() });
  }
  if (labels.length === 0) return labels;
  for await (const { trip } of everyCorrectedLink(store, uuid))
    for (const section of trip?.sections ?? []) for (const label of labels) addMetres(label, section);
  return labels;
}

function addMetres(label: Label, section: Section): void {
  const { start_ts: start, end_ts: end, sensed_mode, distance, mode_confidence } = section;
  const seconds = overlap(label, { start, end });
  if (seconds === 0) return;
  const mode = compareClass(modeClass(sensed_mode));
  const { metres, weighted } = label.byMode.get(mode) ?? { metres: 0, weighted: 0 };
  const part = (distance * seconds) / (end - start);
  label.byMode.set(mode, { metres: metres + part, weighted: weighted + part * (mode_confidence ?? 0) });
}

function longestMode(byMode: MetresByMode): { found: ModeClass; probability: number } {
  const [found, { metres, weighted }] = [...byMode].reduce((a, b) => (b[1].metres > a[1].metres ? b : a));
  return { found, probability: metres > 0 ? weighted / metres : 0 };
}

/** Replaces scooter by bike, because the diary shows riding a scooter as cycling. */
const compareClass = (mode: ModeClass): ModeClass => (mode === 'scooter' ? 'bike' : mode);

function labelClass(text: string): ModeClass {
  const mode = modeClass(text);
  return mode === 'motor' || mode === 'still' ? 'other' : compareClass(mode);
}

function scoreOf(compared: readonly Compared[]): LabelScore {
  const labels = compared.length;
  const right = compared.filter(({ label, found }) => label === found).length;
  const instead: LabelScore['instead'] = {};
  for (const { label, found } of compared) if (label !== found) instead[found] = (instead[found] ?? 0) + 1;
  if (labels === 0) return { labels, right, share: 0, interval: [0, 1], said: 0, instead };
  const probability = compared.reduce((sum, one) => sum + one.probability, 0) / labels;
  return { labels, right, share: right / labels, interval: wilson(right, labels), said: probability, instead };
}
