// Text for HTML: everything that comes from people or phones goes through here.

/** Text as HTML, safe in elements and in quoted attributes. */
export function html(text: string): string {
  return text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}
