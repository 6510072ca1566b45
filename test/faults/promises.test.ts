// The pages about running the service and its promises: every test, file, command, flag and setting that they name is
// there.
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { createContext } from '../../src/cli/context.ts';
import { buildProgram } from '../../src/cli/main.ts';
import { settings } from '../../src/config.ts';

const pathOf = (name: string): string => fileURLToPath(new URL(`../../${name}`, import.meta.url));
const textOf = (name: string): string => readFileSync(pathOf(name), 'utf8');

describe('docs/promises.md', () => {
  const promises = textOf('docs/promises.md');
  const sections = promises.split(/^## /m).filter((section) => /^P\d+ /.test(section));
  const proofs = [...promises.matchAll(/^- `(test\/[^`]+)`: (.+)$/gm)].map(([, file, name]) => [file!, name!]);

  it('has the ten promises in order, each with its mechanism and its tests', () => {
    expect(sections.map((section) => section.split(' ')[0])).toEqual(Array.from({ length: 10 }, (_, i) => `P${i + 1}`));
    for (const section of sections) {
      expect(section).toContain('**How.**');
      expect(section.match(/^- `test\//gm)?.length ?? 0, section.split('\n')[0]).toBeGreaterThanOrEqual(5);
    }
    expect(promises.match(/^- `test/gm)).toHaveLength(proofs.length);
  });

  it.each(proofs)('%s has the test "%s"', (file, name) => {
    expect(existsSync(pathOf(file)), `${file} is not there`).toBe(true);
    const bodies = bodiesOf(textOf(file), name);
    expect(bodies.length, `no test named "${name}" in ${file}`).toBeGreaterThan(0);
    for (const body of bodies) {
      expect(body, `"${name}" in ${file} checks nothing`).toMatch(/expect|assert|same\w*\(|compare\(/);
      expect(body, `"${name}" in ${file} is left out always`).not.toMatch(
        /^(?:it|test|describe)\.(?:skip|todo)\b(?!If)/,
      );
    }
  });
});

describe.each(['SECURITY.md', 'docs/operations.md', 'docs/promises.md'])('%s', (page) => {
  it('names files that exist', () => {
    const named = [...textOf(page).matchAll(/`((?:test|src|docs|bench)\/[\w./-]+)`|\]\(([\w./-]+)(?:#[\w-]+)?\)/g)];
    const folder = page.includes('/') ? page.slice(0, page.lastIndexOf('/') + 1) : '';
    for (const [, path, link] of named) {
      const target = path ?? `${folder}${link}`;
      expect(existsSync(pathOf(target)), `${page} names ${target}`).toBe(true);
    }
    expect(named.length).toBeGreaterThan(3);
  });
});

describe.each(['SECURITY.md', 'docs/operations.md'])('%s', (page) => {
  const text = textOf(page).replaceAll('\\\n', ' ');

  it('names only commands and flags that exist', async () => {
    const streams = { stdout: { write: () => true }, stderr: { write: () => true } };
    const context = createContext({ ...streams, env: {}, stdin: process.stdin, now: () => 0, zone: 'UTC' });
    const program = await buildProgram(context, streams);
    const calls = [...text.matchAll(/(?<=[`/]|^|&& )mobility ([a-z][^`\n#|&>]*)/gm)].map(([, words]) =>
      words!.trim().split(/ +/),
    );
    expect(calls.length).toBeGreaterThan(1);
    for (const words of calls) {
      const { command, flags } = commandOf(program, words);
      for (const word of words.filter((one) => one.startsWith('--'))) {
        expect(flags, `mobility ${words.join(' ')} in ${page}`).toContain(word);
      }
      expect(command.name(), `mobility ${words.join(' ')} in ${page}`).not.toBe('mobility');
    }
  });

  it('names only settings that exist', () => {
    const known = new Set(settings.map(({ variable }) => variable));
    for (const [name] of text.matchAll(/MOBILITY_[A-Z_]+/g)) {
      if (!/^MOBILITY_STORE_/.test(name)) expect(known, name).toContain(name);
    }
  });
});

/**
 * The calls of `it` or `describe` whose title contains the name; of contracts, which are objects of tests, the tests.
 */
function bodiesOf(source: string, name: string): string[] {
  const file = ts.createSourceFile('test.ts', source, ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  const holds = (node: ts.Node): boolean =>
    (ts.isStringLiteralLike(node) && node.text.includes(name)) ||
    (ts.isTemplateExpression(node) && node.getText(file).includes(name)) ||
    (ts.isArrayLiteralExpression(node) && node.elements.some(holds)) ||
    (ts.isPropertyAccessExpression(node) && holds(node.expression)) ||
    (ts.isCallExpression(node) &&
      !ts.isIdentifier(node.expression) &&
      (holds(node.expression) || node.arguments.some(holds)));
  const visit = (node: ts.Node): void => {
    if (
      ts.isCallExpression(node) &&
      (node.arguments.some(holds) || holds(node.expression)) &&
      ts.isExpressionStatement(node.parent)
    ) {
      found.push(node.getText(file));
    } else ts.forEachChild(node, visit);
  };
  visit(file);
  return found.map((body) => body + helpersOf(file, body));
}

/** The functions of the file that a text calls, and those that they call. */
function helpersOf(file: ts.SourceFile, text: string, known: readonly string[] = []): string {
  const helpers: string[] = [];
  const names = [...known];
  const visit = (node: ts.Node): void => {
    const isHelper = ts.isFunctionDeclaration(node) || ts.isVariableDeclaration(node);
    const name = isHelper && node.name !== undefined && ts.isIdentifier(node.name) ? node.name.text : null;
    if (name !== null && !names.includes(name) && new RegExp(`\\b${name}\\(`).test(text)) {
      names.push(name);
      helpers.push(node.getText(file));
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return helpers.length === 0 ? '' : `\n${helpers.join('\n')}${helpersOf(file, helpers.join('\n'), names)}`;
}

/** The command that the words call, and all flags that it takes. */
function commandOf(program: Command, words: readonly string[]): { command: Command; flags: string[] } {
  let command = program;
  const flags = program.options.map(({ long }) => long!);
  for (const word of words) {
    const child = command.commands.find((one) => one.name() === word);
    if (child === undefined) break;
    command = child;
    flags.push(...child.options.map(({ long }) => long!));
  }
  for (const child of command.commands) flags.push(...child.options.map(({ long }) => long!)); // of the one that is the default
  return { command, flags };
}
