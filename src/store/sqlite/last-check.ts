// What the last check of a store found, kept in a file beside its databases. It names nobody, so that no erasure has to
// look here.
import { readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { CheckReport, LastCheck } from '../check.ts';
import { writeTemporary } from './folder.ts';

const fileOfCheck = 'last-check.json';

/**
 * Keeps what a check of the whole store found. A check of a part adds what it found: it says nothing of the rest, in
 * which the one before may have found something.
 */
export async function writeLastCheck(folder: string, report: CheckReport, now: number): Promise<void> {
  const { complete, findings, more, checked } = report;
  const isWhole = complete && checked.pages && checked.texts && checked.references;
  if (!isWhole && findings.length === 0) return;
  const counts = new Map<string, LastCheck['findings'][number]>();
  for (const { code, file } of findings) {
    const known = counts.get(`${code} ${file}`);
    if (known === undefined) counts.set(`${code} ${file}`, { code, file, count: 1 });
    else known.count += 1;
  }
  const before = isWhole ? null : await readLastCheck(folder);
  for (const one of before?.findings ?? []) {
    const known = counts.get(`${one.code} ${one.file}`);
    if (known === undefined) counts.set(`${one.code} ${one.file}`, one);
    else known.count = Math.max(known.count, one.count);
  }
  const all = Math.max(more, before?.more ?? 0);
  const kept: LastCheck = { checked_ts: now, complete: isWhole, findings: [...counts.values()], more: all };
  const path = join(folder, fileOfCheck);
  await rename(await writeTemporary(path, kept), path);
}

/** What the last check found; null if there was none, or what it left cannot be read. */
export async function readLastCheck(folder: string): Promise<LastCheck | null> {
  const text = await readFile(join(folder, fileOfCheck), 'utf8').catch(() => null);
  try {
    const kept = text === null ? null : (JSON.parse(text) as LastCheck);
    return typeof kept?.checked_ts === 'number' && Array.isArray(kept.findings) ? kept : null;
  } catch {
    return null;
  }
}
