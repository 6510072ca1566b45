// The small changes that mutation testing makes in a source file. A test should fail for each.
import ts from 'typescript';

const { SyntaxKind: Kind } = ts;

/** Operators and their replacements. */
const operators = new Map([
  [Kind.LessThanToken, '<='],
  [Kind.LessThanEqualsToken, '<'],
  [Kind.GreaterThanToken, '>='],
  [Kind.GreaterThanEqualsToken, '>'],
  [Kind.EqualsEqualsEqualsToken, '!=='],
  [Kind.ExclamationEqualsEqualsToken, '==='],
  [Kind.AmpersandAmpersandToken, '||'],
  [Kind.BarBarToken, '&&'],
  [Kind.QuestionQuestionToken, '&&'],
  [Kind.PlusToken, '-'],
  [Kind.MinusToken, '+'],
  [Kind.AsteriskToken, '/'],
  [Kind.SlashToken, '*'],
]);

/** All mutations of a TypeScript source: start, end, new text and line. */
export function mutationsOf(text) {
  const file = ts.createSourceFile('source.ts', text, ts.ScriptTarget.Latest, true);
  const found = [];
  const place = (from) => ({ from, line: file.getLineAndCharacterOfPosition(from).line + 1 });
  const add = (node, replacement) => {
    const from = node.getStart(file);
    found.push({ ...place(from), to: node.getEnd(), before: node.getText(file), after: replacement });
  };
  const addSwap = (first, second) => {
    const [from, to] = [first.getStart(file), second.getEnd()];
    const between = text.slice(first.getEnd(), second.getStart(file));
    const after = second.getText(file) + between + first.getText(file);
    found.push({ ...place(from), to, before: text.slice(from, to), after });
  };
  const visit = (node) => {
    // Types and imports have no effect at run time.
    if (ts.isTypeNode(node) || ts.isImportDeclaration(node) || ts.isInterfaceDeclaration(node)) return;
    if (isErrorOrProse(node)) return;
    if (ts.isBinaryExpression(node) && operators.has(node.operatorToken.kind) && !isTextSum(node)) {
      add(node.operatorToken, operators.get(node.operatorToken.kind));
    }
    if (node.kind === Kind.TrueKeyword) add(node, 'false');
    if (node.kind === Kind.FalseKeyword) add(node, 'true');
    if (ts.isNumericLiteral(node)) add(node, `(${node.getText(file)} + 1)`);
    if (ts.isPrefixUnaryExpression(node) && node.operator === Kind.ExclamationToken) {
      add(node, `(${node.operand.getText(file)})`);
    }
    if (ts.isIfStatement(node)) add(node.expression, 'false');
    if (ts.isConditionalExpression(node)) add(node.condition, 'true');
    if (ts.isExpressionStatement(node)) add(node, ';');
    if (ts.isAwaitExpression(node)) add(node, `(${node.expression.getText(file)})`);
    if (ts.isStringLiteral(node) && !isName(node)) add(node, "'changed'");
    if (node.statements) for (const pair of swappable(node.statements)) addSwap(...pair);
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

const isTextSum = (node) =>
  node.operatorToken.kind === Kind.PlusToken && [node.left, node.right].some((side) => ts.isStringLiteralLike(side));

/** Texts of errors and other texts for people, which contain blanks: tests of promises do not read them. */
const isErrorOrProse = (node) =>
  (ts.isNewExpression(node) && /Error$/.test(node.expression.getText())) ||
  (ts.isStringLiteral(node) && node.text.includes(' '));

/** True for the name of a property or of a module. */
const isName = (node) => ts.isExportDeclaration(node.parent) || node.parent.name === node;

/** Neighbouring statements whose order may matter: both are calls or assignments. */
const swappable = (statements) =>
  statements.slice(1).flatMap((second, i) => {
    const pair = [statements[i], second];
    return pair.every((statement) => ts.isExpressionStatement(statement)) ? [pair] : [];
  });
