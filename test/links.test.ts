// The pages name each other: a link leads to a file of the project, and to a heading that it has.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const project = fileURLToPath(new URL('..', import.meta.url));
const folders = ['', 'docs', 'bench', 'examples', 'examples/notebooks'];

const pagesIn = (folder: string): string[] =>
  readdirSync(join(project, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name));

/** The anchor under which a site for repositories shows a heading. */
const anchorOf = (heading: string): string =>
  heading
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .trim()
    .replace(/[^\p{L}\p{N}\- _]/gu, '')
    .replaceAll(' ', '-');

it('every link from a page to another leads to a file that exists, and to one of its headings', () => {
  const texts = new Map(folders.flatMap(pagesIn).map((page) => [page, readFileSync(join(project, page), 'utf8')]));
  const anchorsIn = (text: string) => new Set(Array.from(text.matchAll(/^#+ (.*)$/gm), ([, one]) => anchorOf(one!)));
  const anchors = new Map([...texts].map(([page, text]) => [page, anchorsIn(text)]));
  const broken: string[] = [];
  let seen = 0;
  for (const [page, text] of texts) {
    for (const [, link] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(link!)) continue;
      seen += 1;
      const [path, anchor] = link!.split('#') as [string, string | undefined];
      const target = path === '' ? page : normalize(join(dirname(page), path));
      if (!existsSync(join(project, target))) broken.push(`${page}: ${link}: no such file`);
      else if (anchor !== undefined && !anchors.get(target)?.has(anchor))
        broken.push(`${page}: ${link}: no such heading`);
    }
  }
  expect(broken).toEqual([]);
  expect(seen).toBeGreaterThan(100);
});
