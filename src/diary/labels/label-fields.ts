// Converts user input about a trip or a stay, and suggestions, to the form that apps read.
import type { Entry } from '../../model/entry.ts';
import { oid, uuidValue } from '../../model/extended-json.ts';
import { entryId } from '../../model/ids.ts';
import type { JsonObject } from '../../model/json.ts';
import type { Suggestion, SuggestionSettings } from './suggest.ts';
import type { UserInput } from './user-labels.ts';

/** User input as apps read it: labels as texts, surveys and notes as whole entries. */
export function inputFields(userId: string, { user_input, additions }: UserInput): JsonObject {
  const whole = ({ metadata, data }: Entry): JsonObject => ({
    _id: oid(entryId(userId, metadata)),
    user_id: uuidValue(userId),
    metadata: metadata as JsonObject,
    data,
  });
  const texts = Object.entries(user_input).map(([name, value]) => [
    name,
    typeof value === 'string' ? value : whole(value),
  ]);
  return { user_input: Object.fromEntries(texts), additions: additions.map(whole) };
}

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
