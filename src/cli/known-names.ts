// Keys and reasons that a command line names: one that neither the program nor the store knows is mistyped.

import { tooManyCorrections } from '../diary/corrections/correction-limit.ts';
import { everyStand } from '../diary/status/all-statuses.ts';
import { formatReasons } from '../intake/apps/other-entry.ts';
import { tooManyKeys, tooManyStatements, unusableReasons } from '../intake/check-entry.ts';
import { conversionReasons } from '../intake/converters/conversion-error.ts';
import { faultReason } from '../model/error-summary.ts';
import { keyRow, keys, keyTable } from '../model/keys.ts';
import { isMobilityError, usageError } from '../model/mobility-error.ts';
import { sourceNames } from '../model/sources.ts';
import type { UserRecord } from '../model/user.ts';
import { everyEntry } from '../store/paging.ts';
import type { Store } from '../store/store.ts';
import type { CommandContext } from './context.ts';
import { didYouMean } from './nearest-name.ts';

const reasons = Object.keys({ ...conversionReasons, ...formatReasons, ...unusableReasons });

/** Throws `MOBILITY_USAGE` for a key that the program does not know and of which nobody has an entry. */
export async function refuseUnknownKeys(context: CommandContext, keys: readonly string[]): Promise<void> {
  const unknown = keys.filter((key) => keyRow(key) === null);
  await refuseUnknown(context, 'key', unknown, { known: keyTable.map(({ key }) => key), storedBy: keysOf });
}

/** Throws `MOBILITY_USAGE` for a reason that the program does not give and that no error has. */
export function refuseUnknownReason(context: CommandContext, reason: string): Promise<void> {
  return refuseUnknown(context, 'reason', [reason], {
    known: [...reasons, faultReason, tooManyKeys, tooManyStatements, tooManyCorrections],
  });
}

/** Throws `MOBILITY_USAGE` for a platform or program that no entry of the user came from. */
export async function refuseUnknownSource(
  context: CommandContext,
  { uuid, user_email }: UserRecord,
  source: string,
): Promise<void> {
  const { timeseries, usercache } = await context.store();
  const known = new Set<string>();
  for (const part of [timeseries, usercache]) {
    for await (const entry of everyEntry(part, uuid, { time: 'write_ts' })) {
      if (entry.metadata.key !== keys.correction) for (const name of sourceNames(entry)) known.add(name);
      if (known.has(source)) return;
    }
  }
  const found = `${JSON.stringify(source)}${await didYouMean(source, known)}`;
  const all = [...known].filter((name) => name !== 'other/').join(', ') || 'there are none';
  throw usageError(`expected a source of entries of ${user_email} (${all}), found ${found}`);
}

/** Reads what the store has only for names that are not `known`, and no more people than it needs. */
async function refuseUnknown(
  context: CommandContext,
  what: 'key' | 'reason',
  names: readonly string[],
  { known, storedBy }: { known: readonly string[]; storedBy?: (store: Store, userId: string) => Promise<string[]> },
): Promise<void> {
  const all = new Set(known);
  const isUnknown = (name: string): boolean => !all.has(name);
  if (!names.some(isUnknown)) return;
  const store = await context.store();
  for await (const { user, figures } of everyStand(store, { now: context.now() })) {
    const stored = (await storedBy?.(store, user.uuid)) ?? [];
    for (const name of [...stored, ...figures.set_aside.map((one) => one[what])]) if (name !== null) all.add(name);
    if (!names.some(isUnknown)) return;
  }
  const name = names.find(isUnknown)!;
  const near = await didYouMean(name, all);
  throw usageError(`no ${what} ${JSON.stringify(name)} in ${store.address}${near}`);
}

/** Keys of entries of a user; none if rows of theirs are damaged. */
async function keysOf({ timeseries, usercache }: Store, userId: string): Promise<string[]> {
  try {
    return [...(await usercache.keys(userId)), ...(await timeseries.summary(userId)).map(({ key }) => key)];
  } catch (error) {
    if (isMobilityError(error, 'MOBILITY_STORE_DAMAGED')) return [];
    throw error;
  }
}
