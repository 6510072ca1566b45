// No comment and no message has words that a reader from the field does not know, or must read twice.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { expect, it } from 'vitest';

/** See docs/glossary.md for the words to use instead. */
const patterns = [
  /\b(?:told|tells|tell of|telling of)\b/gi,
  /\b(?:said|meant|whoever|nobody|somebody)\b/gi,
  /\b(?:those|that|these) of\b|\bof (?:these|those)\b/gi,
  /\b(?:goes|go|went) on\b/gi,
  /\bstands\b/gi,
  /\bwhat waits\b|\bat which\b/gi,
  /\bset aside\b/gi,
  /\bstrays?\b/gi,
  /\b(?:is|are|was|were) to (?!be\b|the\b|a\b|an\b|\d)[a-z]+\b/gi,
  /\b(?:take|takes|taken|took) (?:it |them |that |this )?back\b/gi,
  /\bcures?\b/gi,
  /\b(?:gives?|given) back\b/gi,
  /\bword of the phone\b/gi,
];

/** The comments of a source, and its string literals and templates that hold a blank: messages, help and page texts. */
function textsOf(source: string): string[] {
  const file = ts.createSourceFile('source.ts', source, ts.ScriptTarget.Latest);
  const texts = new Map<number, string>();
  const addComments = (ranges: ts.CommentRange[] = []): void => {
    for (const { pos, end } of ranges) texts.set(pos, source.slice(pos, end));
  };
  const visit = (node: ts.Node): void => {
    addComments(ts.getLeadingCommentRanges(source, node.pos));
    addComments(ts.getTrailingCommentRanges(source, node.end));
    const isText = ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node);
    if (isText && node.text.includes(' ')) texts.set(node.end, node.text);
    ts.forEachChild(node, visit);
  };
  visit(file);
  // Comments before the end of a block, and of a file, belong to a token that is no child.
  addComments(ts.getLeadingCommentRanges(source, file.endOfFileToken.pos));
  return [...texts.values()];
}

const privateWords = (source: string): string[] =>
  textsOf(source).flatMap((text) => {
    const line = text.replaceAll(/\n\s*(?:\*|\/\/)?\s*/g, ' ');
    return patterns.flatMap((pattern) => line.match(pattern) ?? []);
  });

// Outside the tests, as it has no time limit here.
const src = fileURLToPath(new URL('../src', import.meta.url));
const found = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .flatMap((name) => privateWords(readFileSync(join(src, name), 'utf8')).map((word) => `${name}: ${word}`));

it('no source has private words', () => expect(found, 'write plainly instead').toEqual([]));

it('private words are found in comments and texts, not in names', () => {
  const source = `/** What waits. */ const told = 'none'; // goes
    throw new Error(\`\${told} is to wait, said \${told}\`); // It stands.
`;
  expect(privateWords(source).sort()).toEqual(['What waits', 'is to wait', 'said', 'stands']);
});
