/** The words of a text, for lists of names. */
export const words = (text: string): string[] => text.trim().split(/\s+/);
