// Text for HTML: everything that comes from people or phones goes through here.

/** Text as HTML, safe in elements and in quoted attributes, without control characters and marks that reorder text. */
export function html(text: string): string {
  const plain = text.replace(/(?![\t\n])[\p{Cc}\p{Bidi_Control}]/gu, '');
  return plain.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}
