// What every page of the server has around its content: head, links, skip link, foot.
import { Markup, type MarkupValue, markup } from './markup.ts';
import type { Texts } from './texts/texts.ts';

/** A link of the head. */
export interface HeadLink {
  href: string;
  words: string;
  isCurrent?: boolean;
}

/** What stands on a page. */
export interface Shell {
  t: Texts;
  title: string;
  /** The study, or the service. */
  brand?: string;
  links?: readonly HeadLink[];
  /** Ends the session. */
  signOut?: Markup;
  /** True: as wide as forms and prose. */
  isNarrow?: boolean;
  foot?: MarkupValue;
  body: MarkupValue;
}

/** Where the style sheet is. */
export const stylePath = '/assets/pages.css';

/** The page as HTML. */
export function shell({ t, title, brand = t.service, links = [], signOut, isNarrow, foot, body }: Shell): Markup {
  const items = links.map(
    ({ href, words, isCurrent }) => markup`<a href="${href}"${isCurrent && CURRENT}>${words}</a>`,
  );
  const nav = items.length > 0 || signOut ? markup`<nav aria-label="${t.pages}">${items}${signOut}</nav>` : null;
  return markup`<!doctype html>
<html lang="${t.language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="robots" content="noindex"><title>${title}${title === brand ? '' : ` – ${brand}`}</title><link rel="stylesheet" href="${stylePath}"></head>
<body><a class="skip" href="#content">${t.skip}</a>
<header class="top"><div class="in"><span class="brand">${brand}</span>${nav}</div></header>
<main id="content"${isNarrow && NARROW}>${body}</main>
${foot ? markup`<footer class="bottom">${foot}</footer>` : null}</body></html>
`;
}

const CURRENT = new Markup(' aria-current="page"');
const NARROW = new Markup(' class="narrow"');
