// Words that a reader from the field does not know in the meaning that they have here, and constructions that are read
// twice; counted in comments and in texts of a source.
import ts from 'typescript';

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
export function textsOf(source: string): string[] {
  const file = ts.createSourceFile('source.ts', source, ts.ScriptTarget.Latest);
  const texts = new Map<number, string>();
  const visit = (node: ts.Node): void => {
    for (const { pos, end } of ts.getLeadingCommentRanges(source, node.pos) ?? [])
      texts.set(pos, source.slice(pos, end));
    for (const { pos, end } of ts.getTrailingCommentRanges(source, node.end) ?? [])
      texts.set(pos, source.slice(pos, end));
    const isText =
      ts.isStringLiteral(node) ||
      ts.isNoSubstitutionTemplateLiteral(node) ||
      ts.isTemplateHead(node) ||
      ts.isTemplateMiddle(node) ||
      ts.isTemplateTail(node);
    if (isText && node.text.includes(' ')) texts.set(node.end, node.text);
    ts.forEachChild(node, visit);
  };
  visit(file);
  // Comments before the end of a block, and of a file, belong to a token that is no child.
  for (const { pos, end } of ts.getLeadingCommentRanges(source, file.endOfFileToken.pos) ?? [])
    texts.set(pos, source.slice(pos, end));
  return [...texts.values()];
}

/** The private words and constructions in the texts of a source. */
export function privateWords(source: string): string[] {
  return textsOf(source).flatMap((text) => {
    const line = text.replaceAll(/\n\s*(?:\*|\/\/)?\s*/g, ' ');
    return patterns.flatMap((pattern) => line.match(pattern) ?? []);
  });
}
