import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, sep } from 'node:path';
import { correctedTrips } from '../diary/corrections/corrected-trips.ts';
import { correctionEntry } from '../diary/corrections/new-correction.ts';
import type { ImportReport } from '../import/import-source.ts';
import type { SourceProblem } from '../import/source-error.ts';
import { type CheckedEntry, isEntry } from '../intake/check-entry.ts';
import { writeTime } from '../intake/write-time.ts';
import { line } from '../log/messages.ts';
import type { Correction } from '../model/correction.ts';
import { dataTime } from '../model/entry.ts';
import { isJsonObject } from '../model/json.ts';
import { isMobilityError } from '../model/mobility-error.ts';
import { tokenHash, tokenId } from '../model/user.ts';
import { hasEntry } from '../store/paging.ts';
import { startSlices } from '../util/slices.ts';
import { type MarkupValue, markup } from './pages/markup.ts';
import { ownValue } from './pages/texts/texts.ts';
import { newSecret } from './sessions.ts';
import { banner, formButton, formOf, type PersonCall, redirect, type WebAnswer } from './web.ts';

const mostKept = 20; // imports in a profile

/** ms after which an import stops. Stored entries stay; adding the file again imports the rest. */
const maxDuration = 300_000;

const mostSpooled = 1024 ** 3; // bytes in the temporary folder; years of history have less
const partLength = 50; // entries per transaction: few, so that puts of phones wait only briefly
const mostNameLength = 100; // characters of the name of a file
const mostLogged = 20; // problems in the log; an archive may have 100,000 damaged files

/** `others` is the number of further files with this problem. */
type KeptProblem = { kind: SourceProblem; name: string; others: number };

type KeptImport = Record<'id' | 'name', string> &
  Record<'ts' | 'stored' | 'known' | 'rejected' | 'from_ts' | 'to_ts', number> & { problems?: KeptProblem[] };

async function readImports({ store, user }: PersonCall): Promise<KeptImport[]> {
  const list = (await store.profiles.get(user.uuid))?.imports;
  return Array.isArray(list) ? (list.filter(isJsonObject) as KeptImport[]) : [];
}

async function findExclusion({ store, user }: PersonCall, id: string) {
  const standings = await correctedTrips(store).corrections(user.uuid);
  return standings.find(
    ({ correction, effect }) => correction.kind === 'set_aside' && correction.token_id === id && effect !== 'undone',
  );
}

export async function importSection(call: PersonCall): Promise<MarkupValue> {
  const { t, zone, query } = call;
  const words = t.imports;
  const rows: MarkupValue[] = [];
  for (const one of (await readImports(call)).toReversed()) {
    const isIgnored = (await findExclusion(call, one.id)) !== undefined;
    const facts = words.report(t.number(one.stored), t.number(one.known), t.number(one.rejected));
    const range = one.stored > 0 && ` ${words.range(t.date(one.from_ts, zone), t.date(one.to_ts, zone))}`;
    const button = formButton(call, '/me/import/undo', isIgnored ? words.use : words.undo, { id: one.id });
    const problems = one.problems?.map(
      ({ kind, name, others }) => markup`<br>${words.problemOf(name, others, words.problems[kind])}`,
    );
    rows.push(
      markup`<li class="stated"><span><b>${one.name}</b>, ${t.date(one.ts, zone)}: ${facts}${range}${isIgnored && ` ${words.isIgnored}`}${problems}</span>${one.stored > 0 && button}</li>`,
    );
  }
  const failed = ownValue<string>({ ...words.failed, ...words.problems }, query.done);
  const done = failed === undefined ? banner(query.done === 'import' ? words.done : undefined) : banner(failed, 'bad');
  const content = markup`<label><span>${words.file}</span><input type="file" name="file" required></label><button>${words.go}</button>`;
  return markup`<section id="import">${done}<h2>${words.title}</h2><p>${words.lead}</p>${formOf(call, '/me/import', {}, content, true)}${rows.length > 0 && markup`<ul>${rows}</ul>`}</section>`;
}

const toImports = (done: string): WebAnswer => redirect(`/me/data?done=${done}#import`);

export async function importUpload(call: PersonCall): Promise<WebAnswer> {
  const { file, user, store, now, log } = call;
  if (file === null) return toImports('none');
  if (file.bytes.length === 0) return toImports('damaged');
  // Imported here: the formats load the driver of MongoDB, 10 MB in each process.
  const { findParts } = await import('../import/import-formats.ts');
  const { importParts } = await import('../import/import-source.ts');
  const signal = AbortSignal.timeout(maxDuration);
  const folder = await mkdtemp(join(tmpdir(), 'mobility-upload-'));
  try {
    const plain = basename(file.name.replaceAll('\\', '/')).replaceAll(/[^\p{L}\p{N}._ -]/gu, '_');
    const name = plain.slice(-mostNameLength);
    const path = join(folder, /^\.*$/.test(name) ? 'file' : name);
    await writeFile(path, file.bytes, { mode: 0o600 });
    const { parts } = await findParts([path], undefined, {}, { signal, mostSpooled });
    const id = tokenId(tokenHash(newSecret()));
    const times = { from_ts: Infinity, to_ts: -Infinity };
    const report = await importParts(parts, {
      store,
      now: () => now,
      log,
      whom: { name: user.uuid, user },
      entriesOnly: true,
      signal,
      put: async (checked, receipts) => {
        const slices = startSlices();
        const sum = { inserted: 0, updated: 0, rejected: 0 };
        for (let start = 0; start < checked.length; start += partLength) {
          const part = checked.slice(start, start + partLength);
          const fresh: CheckedEntry[] = [];
          for (const one of part) {
            if (slices.isOver()) await slices.next();
            // Entries that the store already has must stay if this import is undone.
            if (isEntry(one) && (await hasEntry(store, user.uuid, one.metadata))) continue;
            fresh.push(one);
            if (!isEntry(one)) continue;
            const ts = dataTime(one.data) ?? one.metadata.write_ts;
            times.from_ts = Math.min(times.from_ts, ts);
            times.to_ts = Math.max(times.to_ts, ts);
          }
          const counts = await call.put(user, fresh, { receipts, sentWith: id });
          sum.inserted += counts.inserted;
          sum.updated += counts.updated + part.length - fresh.length;
          sum.rejected += counts.rejected;
        }
        return sum;
      },
    });
    const { stored, known, doubled, set_aside, interrupted } = report;
    const range = stored > 0 ? times : { from_ts: now, to_ts: now };
    const problems = problemsIn(report, folder);
    for (const text of report.parts.flatMap((part) => part.problems).slice(0, mostLogged))
      log.write('WARNING', line.aboutUser(user.uuid, `problem of an imported file: ${text}`));
    const counts = { stored, known: known + doubled, rejected: set_aside };
    const one: KeptImport = { id, name, ts: now, ...counts, ...range, ...(problems.length > 0 && { problems }) };
    await store.profiles.merge(user.uuid, { imports: [...(await readImports(call)), one].slice(-mostKept) });
    return toImports(interrupted ? 'long' : problems.length > 0 ? 'problem' : 'import');
  } catch (error) {
    if (error === signal.reason) return toImports('long');
    if (!isMobilityError(error, 'MOBILITY_USAGE')) throw error;
    return toImports('format');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function problemsIn({ parts }: ImportReport, folder: string): KeptProblem[] {
  const kept = new Map<SourceProblem, KeptProblem>();
  for (const { source, problem_kinds } of parts)
    for (const kind of problem_kinds) {
      const known = kept.get(kind);
      if (known !== undefined) known.others += 1;
      else kept.set(kind, { kind, name: source.replace(folder + sep, '').slice(-mostNameLength), others: 0 });
    }
  return [...kept.values()];
}

export async function undoImport(call: PersonCall): Promise<WebAnswer> {
  const { form, user, store, now, put } = call;
  const one = (await readImports(call)).find(({ id }) => id === form.id);
  if (one === undefined) return toImports('none');
  const found = await findExclusion(call, one.id);
  const { id: token_id, from_ts, to_ts } = one;
  const correction: Correction = found
    ? { kind: 'undo', of: found.correction.write_ts }
    : { kind: 'set_aside', start_ts: from_ts - 1, end_ts: to_ts + 1, token_id };
  const author = { now: writeTime(now), origin: { program: 'my data' } };
  await put(user, [await correctionEntry(store, user.uuid, correction, author)]);
  return redirect('/me/data#import');
}
