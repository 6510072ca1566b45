import { Markup, type MarkupValue, markup } from './markup.ts';
import { pagesStyle } from './style.ts';
import { languages, type Texts } from './texts/texts.ts';

export interface Shell {
  t: Texts;
  title: string;
  brand?: string; // the name in the head: the study or the service
  links?: readonly { href: string; words: string; isCurrent?: boolean }[];
  signOut?: Markup;
  isNarrow?: boolean;
  isFile?: boolean; // true: the page is a file, which may fetch nothing
  foot?: MarkupValue;
  /** Links to other languages repeat the query. null: the page has no such links. */
  query?: Readonly<Record<string, string>> | null;
  body: MarkupValue;
}

export const stylePath = '/assets/pages.css';

export function shell(page: Shell): Markup {
  const { t, title, brand = t.service, links = [], signOut, isNarrow, isFile, foot, query = {}, body } = page;
  const items = links.map(
    ({ href, words, isCurrent }) => markup`<a href="${href}"${isCurrent && markup` aria-current="page"`}>${words}</a>`,
  );
  const nav = items.length > 0 || signOut ? markup`<nav aria-label="${t.pages}">${items}${signOut}</nav>` : null;
  if (isFile) return document(t, title, pagesStyle, markup`<main>${body}</main>`);
  const content = markup`<a class="skip" href="#content">${t.skip}</a>
<header class="top"><div class="in"><span class="brand">${brand}</span>${nav}</div></header>
<main id="content"${isNarrow && markup` class="narrow"`}>${body}</main>
<footer class="bottom">${foot}${query && languageLinks(t, query)}</footer>`;
  return document(t, title === brand ? title : `${title} – ${brand}`, null, content);
}

function languageLinks(t: Texts, query: Readonly<Record<string, string>>): Markup {
  const links = Object.values(languages).map(({ language, ownName }) => {
    if (language === t.language) return markup`<span aria-current="true">${ownName}</span>`;
    const href = `?${new URLSearchParams({ ...query, lang: language })}`;
    return markup`<a href="${href}" lang="${language}" hreflang="${language}">${ownName}</a>`;
  });
  return markup`<nav aria-label="${t.languages}">${links}</nav>`;
}

/** `style`: the CSS of a file, which may fetch nothing; null for a page of the server. */
export function document(t: Texts, title: string, style: string | null, body: MarkupValue): Markup {
  const look =
    style === null
      ? markup`<meta name="robots" content="noindex"><link rel="stylesheet" href="${stylePath}">`
      : markup`<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'"><style>${new Markup(style)}</style>`;
  return markup`<!doctype html>
<html lang="${t.language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>${title}</title>${look}</head>
<body>${body}</body></html>
`;
}
