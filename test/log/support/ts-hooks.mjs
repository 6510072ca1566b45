// Lets a child process of a test run TypeScript sources: types are taken out of each file as it is loaded.
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const compilerOptions = { target: ts.ScriptTarget.ES2023, module: ts.ModuleKind.ESNext, verbatimModuleSyntax: true };

export async function load(url, context, nextLoad) {
  if (!url.startsWith('file:') || !url.endsWith('.ts')) return nextLoad(url, context);
  const source = ts.transpileModule(await readFile(fileURLToPath(url), 'utf8'), { compilerOptions }).outputText;
  return { format: 'module', source, shortCircuit: true };
}
