// JSON as a program without types reads it.

/** An answer whose fields are read unchecked, as apps do: where one is missing, the reader breaks. */
// biome-ignore lint/suspicious/noExplicitAny: that is what such a program does
export type Untyped = any;
