import { clockText, durationText } from '../diary/number-text.ts';
import { readObservedDays, type TimeSpan } from '../diary/observed-time.ts';
import type { StepName } from '../diary/status/breakages.ts';
import type { BrokenStep, PersonStatus } from '../diary/status/person-status.ts';
import { quotedName, type Remedy } from '../diary/status/remedies.ts';
import { joinRefusal, readStudyToken } from '../model/study.ts';
import { tokenHash, type UserRecord } from '../model/user.ts';
import type { Store } from '../store/store.ts';
import { isDead } from './check-installation.ts';

/** Explains why a token of a study has no account. Returns null if `name` is no such token. */
export async function checkJoin(store: Store, name: string): Promise<Remedy | null> {
  const token = readStudyToken(name);
  if (token === null) return null;
  const study = await store.studies.byJoinName(token.study);
  const names = (await store.studies.list()).map((one) => one.name).join(', ') || 'none';
  const refusal = joinRefusal(study, token);
  if (study === null) {
    const why = `The token names the study ${token.study}, which does not exist here; studies: ${names}.`;
    return { why, next: 'give the person the link of the right study: mobility study link NAME --qr' };
  }
  if (await store.studies.hasErased(study.name, tokenHash(name))) {
    const why = `The owner of this token was erased from ${study.name}, so the token cannot join again.`;
    return { why, next: 'if the person wants to join again: mobility study readmit TOKEN' };
  }
  const why = `No account has this token of the subgroup ${token.subgroup} of ${study.name}${refusal === null ? '' : `; the study refuses it: ${refusal}`}.`;
  return { why, next: `mobility study show ${study.name}` };
}

/** Returns the step that a killed run blocks until its lease expires, if no earlier step failed. */
export function findKilledRun({ figures, broken, chain }: PersonStatus, now: number): BrokenStep | null {
  const { lease } = figures;
  if (lease === null || lease.expires_ts <= now || !isDead(lease)) return null;
  const names = Object.keys(chain) as StepName[];
  if (broken !== null && names.indexOf(broken.link) < names.indexOf('moved')) return null;
  return { link: 'moved', code: 'run_stopped', since: chain.moved.ts };
}

const longGap = 2 * 3600; // s; shorter gaps are not reported
/** s since midnight. Gaps at night are ignored, because a phone at rest records nothing. */
const waking = { from: 7 * 3600, to: 22 * 3600 };

/** Reasons of unobserved time that is not reported as a gap. */
const outside: ReadonlySet<unknown> = new Set(['before the first location', 'nothing received']);

/** Explains the long gaps of a day, with the entries that the phone sent for them. */
export async function findGap(store: Store, user: UserRecord, day: string, hostZone: string): Promise<Remedy | null> {
  const { days } = await readObservedDays(store, user.uuid, { from: day, to: day, zone: hostZone });
  const { spans, zone, from: midnight } = days[0]!;
  const [from, to] = [midnight + waking.from, midnight + waking.to];
  const isGap = (span: TimeSpan): boolean =>
    span.reason !== null && !outside.has(span.reason) && Math.min(span.to, to) - Math.max(span.from, from) >= longGap;
  const gaps = spans.filter(isGap);
  if (gaps.length === 0) return null;
  const name = quotedName(user.user_email);
  const excluded = gaps.filter(({ reason }) => reason === 'taken out');
  if (excluded.length > 0) {
    const times = excluded.map(({ from, to }) => `${clockText(from, zone)}-${clockText(to, zone)}`).join(', ');
    return {
      why: `${day}, times of ${zone}: a correction excludes the data of ${times}. They are kept, but give no trips.`,
      next: `to use the data again, undo the correction: mobility correct list --user ${name}`,
    };
  }
  const texts: string[] = [];
  for (const gap of gaps) texts.push(await gapText(store, user, gap, zone));
  const words = gaps.some(({ reason }) => reason === 'tracking off')
    ? 'to switch tracking on'
    : 'to set location to "always" and to switch the battery saver off';
  return {
    why: `${day}, times of ${zone}: ${texts.join('; ')}. Trips of that time are unknown, and no command can restore them.`,
    next: `ask ${name} ${words}; see what is known: mobility explain --user ${name} --day ${day}`,
  };
}

async function gapText(store: Store, { uuid }: UserRecord, gap: TimeSpan, zone: string): Promise<string> {
  const { from, to, reason } = gap;
  const { entries } = await store.timeseries.find(uuid, { time: 'ts', from: from + 1, to, limit: 500 });
  const keys = new Map<string, number>();
  for (const { metadata } of entries) keys.set(metadata.key, (keys.get(metadata.key) ?? 0) + 1);
  const sent = [...keys].map(([key, count]) => `${count} ${key}`).join(', ');
  const times = `no location ${clockText(from, zone)}-${clockText(to, zone)} (${durationText(to - from)}, ${reason})`;
  return sent === '' ? times : `${times}, although the phone sent ${sent}`;
}
