// The labels of a study: the lists that its app reads (`label_options`), with the mode of each.
import { isJsonObject, type JsonObject, type JsonValue } from './json.ts';
import { type ModeName, modeOfLabel } from './modes.ts';

/** A label that people can choose. */
interface LabelOption {
  value: string;
  /** Its text in the requested language, or in English, or the value itself. */
  words: string;
}

/** The labels of a study. */
export interface StudyLabels {
  modes: LabelOption[];
  purposes: LabelOption[];
}

/**
 * The labels in a language; null: the study has no lists of its own.
 *
 *     {"MODE": [{"value": "cargo", "baseMode": "BICYCLING"}], "PURPOSE": [{"value": "work"}],
 *      "translations": {"de": {"cargo": "Lastenrad"}}}
 */
export function studyLabels(config: JsonObject | null | undefined, language: string): StudyLabels | null {
  const lists = objectAt(config?.label_lists);
  const words = objectAt(lists.translations);
  const [own, english] = [objectAt(words[language]), objectAt(words.en)];
  const optionsOf = (list: JsonValue | undefined): LabelOption[] =>
    rowsOf(list).map(
      ({ value }) =>
        ({
          value,
          words: [own[value], english[value]].find((one) => typeof one === 'string') ?? value.replaceAll('_', ' '),
        }) as LabelOption,
    );
  const labels = { modes: optionsOf(lists.MODE), purposes: optionsOf(lists.PURPOSE) };
  return labels.modes.length === 0 ? null : labels;
}

/** Makes a function that finds the mode of a label: in the study's lists, else by its name; null: it names no mode. */
export function labelModes(config: JsonObject | null | undefined): (label: string) => ModeName | null {
  const rows = rowsOf(objectAt(config?.label_lists).MODE);
  const listed = new Map(rows.map(({ value, baseMode = value }) => [value, modeOfLabel(baseMode)]));
  return (label) => (listed.has(label) ? listed.get(label)! : modeOfLabel(label));
}

const objectAt = (value: JsonValue | undefined): JsonObject => (isJsonObject(value) ? value : {});

const rowsOf = (list: JsonValue | undefined): { value: string; baseMode?: string }[] =>
  Array.isArray(list)
    ? list.flatMap((row) =>
        isJsonObject(row) && typeof row.value === 'string'
          ? [{ value: row.value, ...(typeof row.baseMode === 'string' && { baseMode: row.baseMode }) }]
          : [],
      )
    : [];
