/** Any value of JSON. */
export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;

/** A JSON object whose members are not known beforehand. */
export interface JsonObject {
  [name: string]: JsonValue | undefined;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export const asObject = (value: unknown): JsonObject => (isJsonObject(value) ? value : {});

/** Returns undefined if the text is not JSON. Drops the parser's message, which may quote a location. */
export function parseJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

export function parseJsonObject(text: string): JsonObject | null {
  const value = parseJson(text);
  return isJsonObject(value) ? value : null;
}

/** For error messages, which must not contain the value: it may be a position. */
export function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (value === '') return 'an empty text';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'number') return Number.isFinite(value) ? 'a number' : 'a number that is too large';
  if (typeof value === 'string') return 'a text';
  return typeof value === 'boolean' ? String(value) : 'an object';
}
