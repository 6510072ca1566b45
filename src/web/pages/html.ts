/** Escapes text for elements and quoted attributes. Removes control characters and characters that reorder text. */
export function html(text: string): string {
  const plain = text.replace(/(?![\t\n])[\p{Cc}\p{Bidi_Control}]/gu, '');
  return plain.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}
