// The labels of a study: the lists that its app reads (`label_options`).
import { asObject, type JsonObject, type JsonValue } from './json.ts';
import { type ModeName, modeOfLabel } from './modes.ts';

export interface LabelOption {
  value: string;
  /** In the requested language, else in English, else `value`. */
  words: string;
}

/**
 * The labels in a language; null: the study has no lists of its own.
 *
 *     {"MODE": [{"value": "cargo", "baseMode": "BICYCLING"}], "PURPOSE": [{"value": "work"}],
 *      "translations": {"de": {"cargo": "Lastenrad"}}}
 */
export function studyLabels(config: JsonObject | null | undefined, language: string) {
  const lists = asObject(config?.label_lists);
  const translated = asObject(lists.translations);
  const [own, english] = [asObject(translated[language]), asObject(translated.en)];
  const wordsOf = (value: string): string =>
    [own[value], english[value]].find((words) => typeof words === 'string') ?? value.replaceAll('_', ' ');
  const optionsOf = (list: JsonValue | undefined): LabelOption[] =>
    rowsOf(list).map(({ value }) => ({ value, words: wordsOf(value) }));
  const labels = { modes: optionsOf(lists.MODE), purposes: optionsOf(lists.PURPOSE) };
  return labels.modes.length === 0 ? null : labels;
}

/** Looks a label up in the lists of the study, then by its name. null: the label is no mode. */
export function labelModes(config: JsonObject | null | undefined): (label: string) => ModeName | null {
  const rows = rowsOf(asObject(config?.label_lists).MODE);
  const listed = new Map(rows.map(({ value, baseMode }) => [value, modeOfLabel(baseMode)]));
  return (label) => (listed.has(label) ? listed.get(label)! : modeOfLabel(label));
}

function rowsOf(list: JsonValue | undefined): { value: string; baseMode: string }[] {
  return (Array.isArray(list) ? list : []).flatMap((row) => {
    const { value, baseMode } = asObject(row);
    if (typeof value !== 'string') return [];
    return [{ value, baseMode: typeof baseMode === 'string' ? baseMode : value }];
  });
}
