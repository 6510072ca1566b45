// The pages of a file: whether the engine finds its trees, indexes and free pages in order.
import { errorText } from '../../model/errors.ts';
import type { CheckTally, Finding } from '../check.ts';
import { restoreOrCopy, rewriteIndexes } from '../cures.ts';
import { unlessTrouble } from './engine-errors.ts';
import { type StoreFile, whenFree } from './file.ts';

const mostMessages = 200;

/** Reports what is wrong with the pages of a file. Reads all of it at once, which nothing can interrupt. */
export async function checkPages(file: StoreFile, name: string, tally: CheckTally): Promise<void> {
  const pragma = `PRAGMA integrity_check(${mostMessages})`;
  const messages = await whenFree(() => file.connection.prepare(pragma).all<{ integrity_check: string }>()).then(
    (rows) => rows.map((row) => row.integrity_check),
    (error: unknown) => unlessTrouble(error, file.path, [errorText(error)]),
  );
  if (messages.length === 1 && messages[0] === 'ok') return;
  const trees = await treesOf(file);
  const found = new Map<string, { finding: Finding; count: number }>();
  for (const text of messages.flatMap((message) => message.split('\n'))) {
    if (text.startsWith('***')) continue;
    const { table, index } = placeOf(text, trees);
    const code = index === null ? 'DAMAGED_PAGES' : 'DAMAGED_INDEX';
    const known = found.get(`${code} ${table} ${index}`);
    if (known !== undefined) known.count += 1;
    else {
      const cure = index === null ? restoreOrCopy : rewriteIndexes;
      const what = index === null ? text : `index ${index}: ${text}`;
      const finding: Finding = { code, file: name, table, user_id: null, what, cure };
      found.set(`${code} ${table} ${index}`, { finding, count: 1 });
    }
  }
  for (const { finding, count } of found.values()) {
    tally.find(count === 1 ? finding : { ...finding, what: `${finding.what} (and ${count - 1} more)` });
  }
}

interface Tree {
  name: string;
  table: string;
  isIndex: boolean;
}

/** Tables and indexes, by name and by the number of their first page; none if the schema cannot be read. */
async function treesOf(file: StoreFile): Promise<Map<string | number, Tree>> {
  const trees = new Map<string | number, Tree>();
  const sql = 'SELECT type, name, tbl_name, rootpage FROM sqlite_schema WHERE rootpage > 0';
  const read = (): { type: string; name: string; tbl_name: string; rootpage: number }[] =>
    file.connection.prepare(sql).all();
  for (const { type, name, tbl_name, rootpage } of await file
    .read(read)
    .catch((error) => unlessTrouble<ReturnType<typeof read>>(error, file.path, []))) {
    const tree = { name, table: tbl_name, isIndex: type === 'index' };
    trees.set(name, tree);
    trees.set(rootpage, tree);
  }
  return trees;
}

function placeOf(
  text: string,
  trees: ReadonlyMap<string | number, Tree>,
): { table: string | null; index: string | null } {
  const named = /\bindex (\S+)$/.exec(text)?.[1];
  const root = /^Tree (\d+)\b/.exec(text)?.[1];
  const inTable = / in (\w+)\.\w+$/.exec(text)?.[1];
  const tree = named !== undefined ? trees.get(named) : root !== undefined ? trees.get(Number(root)) : undefined;
  return { table: tree?.table ?? inTable ?? null, index: tree?.isIndex ? tree.name : null };
}
