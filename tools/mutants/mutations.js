// The small changes that are tried on a source file: each is one that a test should notice.
import ts from 'typescript';

const { SyntaxKind: Kind } = ts;

/** Operators and what takes their place. */
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

/** All mutations of a TypeScript source: from where to where what is put, and on which line. */
export function mutationsOf(text) {
  const file = ts.createSourceFile('source.ts', text, ts.ScriptTarget.Latest, true);
  const found = [];
  const add = (node, replacement) => {
    const from = node.getStart(file);
    const line = file.getLineAndCharacterOfPosition(from).line + 1;
    found.push({ from, to: node.getEnd(), line, before: node.getText(file), after: replacement });
  };
  const visit = (node) => {
    // Types, imports and texts are no behaviour.
    if (ts.isTypeNode(node) || ts.isImportDeclaration(node) || ts.isInterfaceDeclaration(node)) return;
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
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

const isTextSum = (node) =>
  node.operatorToken.kind === Kind.PlusToken && [node.left, node.right].some((side) => ts.isStringLiteralLike(side));
