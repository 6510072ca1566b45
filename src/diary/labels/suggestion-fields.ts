// Converts suggestions to the form that apps read: label sets with probabilities, and whether the app asks the user.
import type { JsonObject } from '../../model/json.ts';
import type { Suggestion, SuggestionSettings } from './suggest.ts';

/** The fields `inferred_labels`, `confidence_threshold` and `expectation` of a trip. null: no labels are suggested. */
export function suggestionFields(suggestions: readonly Suggestion[], settings: SuggestionSettings | null): JsonObject {
  if (settings === null) return { expectation: { to_label: true }, inferred_labels: [] };
  const isSure = (suggestions[0]?.p ?? 0) >= settings.sureFrom;
  return {
    expectation: { to_label: !isSure },
    inferred_labels: suggestions.map(({ p, labels }) => ({ p, labels: { ...labels } })),
    confidence_threshold: settings.shownFrom,
  };
}
