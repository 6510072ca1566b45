// Suggestions in the form that apps read: the labels with their probabilities, and whether the user is asked at all.
import type { JsonObject } from '../../model/json.ts';
import type { Suggestion, SuggestionSettings } from './suggest.ts';

/** `inferred_labels`, `confidence_threshold` and `expectation` of a trip; without settings nothing is suggested. */
export function suggestionFields(suggestions: readonly Suggestion[], settings: SuggestionSettings | null): JsonObject {
  if (settings === null) return { expectation: { to_label: true }, inferred_labels: [] };
  const isSure = (suggestions[0]?.p ?? 0) >= settings.sureFrom;
  return {
    expectation: { to_label: !isSure },
    inferred_labels: suggestions.map(({ p, labels }) => ({ p, labels: { ...labels } })),
    confidence_threshold: settings.shownFrom,
  };
}
