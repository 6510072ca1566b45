import type { Entry } from '../../model/entry.ts';
import { oid, uuidValue } from '../../model/extended-json.ts';
import { entryId } from '../../model/ids.ts';
import type { JsonObject } from '../../model/json.ts';
import { type Suggestion, suggestionLimits } from './suggest.ts';
import type { UserInput } from './user-labels.ts';

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

/** Returns the fields of suggestions in an answer. `suggestions`: null if the answer has none. */
export function suggestionFields(suggestions: readonly Suggestion[] | null): JsonObject {
  if (suggestions === null) return { expectation: { to_label: true }, inferred_labels: [] };
  const isSure = (suggestions[0]?.p ?? 0) >= suggestionLimits.sureFrom;
  return {
    expectation: { to_label: !isSure },
    inferred_labels: suggestions.map(({ p, labels }) => ({ p, labels: { ...labels } })),
    confidence_threshold: suggestionLimits.shownFrom,
  };
}
