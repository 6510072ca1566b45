import { readCorrections } from '../diary/corrections/read-corrections.ts';
import { readLabels } from '../diary/labels/load-labels.ts';
import { readObservedDays } from '../diary/observed-time.ts';
import { everyStatus } from '../diary/status/all-statuses.ts';
import { isTrouble, type PersonStatus, troubles, usualSilentDays } from '../diary/status/person-status.ts';
import { appOfToken } from '../model/apps.ts';
import type { StudyRecord } from '../model/study.ts';
import { addDays, day, localDay } from '../model/time.ts';
import type { BriefRecord } from '../model/trip.ts';
import { pseudonymOf, shownName } from '../model/user.ts';
import type { Store } from '../store/store.ts';
import { recordedTime } from './pages/day-items.ts';
import { Markup, type MarkupValue, markup } from './pages/markup.ts';
import type { Texts } from './pages/texts/texts.ts';

export interface StudyPerson extends PersonStatus {
  id: string; // identifies the person in addresses of pages
  shown: string; // the person's name if the study shows names, else a pseudonym
  app: string;
}

export const filters = ['joined', 'active', 'silent', 'never'] as const;
export type Filter = (typeof filters)[number];

/** Each person who joined is in exactly one filter besides `joined`. */
export function isShown({ state }: PersonStatus, filter: Filter): boolean {
  const own = state === 'in_order' ? 'active' : state === 'never_began' ? 'never' : 'silent';
  return filter === 'joined' || filter === own;
}

export const isNew = ({ state, since }: PersonStatus, now: number): boolean =>
  state === 'never_began' && now - (since ?? 0) < usualSilentDays * day;

/** People who asked for erasure get no reminder. */
export const needsReminder = (person: PersonStatus, now: number): boolean =>
  isTrouble(person.state) && !isNew(person, now) && typeof person.figures.profile.erasure_asked_ts !== 'number';

export const matches = ({ shown, user, app }: StudyPerson, text: string): boolean =>
  [shown, user.subgroup ?? '', app].some((one) => one.toLowerCase().includes(text.trim().toLowerCase()));

/** Puts people in failing states first, and sorts people in the same state by its duration. */
export async function readPeople(store: Store, study: StudyRecord, now: number): Promise<StudyPerson[]> {
  const people: StudyPerson[] = [];
  for await (const status of everyStatus(store, { now, study: study.name })) {
    const id = pseudonymOf(status.user);
    const shown = study.show_names ? shownName(status.user.user_email) : id;
    people.push({ ...status, id, shown, app: appOf(status) });
  }
  const rank = (one: PersonStatus): number =>
    isTrouble(one.state) && !isNew(one, now) ? troubles.indexOf(one.state) : troubles.length;
  return people.sort((a, b) => rank(a) - rank(b) || (a.since ?? 0) - (b.since ?? 0));
}

const pageSize = 50; // people

export function takePage<T>(all: readonly T[], page = '1'): { number: number; chosen: readonly T[] } {
  const number = Math.max(0, (Number.parseInt(page, 10) || 1) - 1);
  return { number, chosen: all.slice(number * pageSize, (number + 1) * pageSize) };
}

export function pageLinks(count: number, page: string | undefined, href: string, t: Texts): MarkupValue {
  const { number } = takePage([], page);
  const pages = Array.from({ length: Math.ceil(count / pageSize) }, (_, i) => {
    const current = i === number && new Markup(' aria-current="page"');
    return markup`<a href="${href}${i + 1}"${current}>${i + 1}</a> `;
  });
  return pages.length > 1 && markup`<nav class="turn" aria-label="${t.study.tablePages}">${pages}</nav>`;
}

function appOf({ figures: { tokens } }: PersonStatus): string {
  const [last] = tokens.toReversed().sort((a, b) => (b.used_ts ?? 0) - (a.used_ts ?? 0));
  return appOfToken(last?.kind)?.name ?? 'e-mission';
}

export interface Fortnight {
  /** Recorded share of each day, 0 to 1, the oldest first; null before the person registered. */
  shares: (number | null)[];
  trips: number;
  labelled: number;
}

const days = 14;
const mostCached = 50_000; // values; each is a few numbers, or the table of a month with UUIDs

/** Reads a figure of a person again only after the data of the person changed. */
export class FigureCache {
  readonly #known = new Map<string, { key: string; value: unknown }>();

  /** `what`: the name of the figure, with all that it depends on except the person's data. */
  get<T>(what: string, { user, figures }: PersonStatus, read: () => Promise<T>): Promise<T> {
    const { state, profile, waiting } = figures;
    const { last_run_ts, complete_until, retained } = state;
    const changes = [last_run_ts, complete_until, retained?.days_before, profile.last_stored_ts, waiting.count];
    return this.getFor(`${user.uuid} ${what}`, JSON.stringify(changes), read);
  }

  async getFor<T>(name: string, key: string, read: () => Promise<T>): Promise<T> {
    const known = this.#known.get(name);
    if (known?.key === key) return known.value as T;
    const value = await read();
    if (this.#known.size >= mostCached) this.#known.clear();
    this.#known.set(name, { key, value });
    return value;
  }
}

/** Returns a store that takes the state from the status, and does not read a usercache that is empty. */
export function withStatusFacts(store: Store, { figures: { state, waiting } }: PersonStatus): Store {
  const usercache = { ...store.usercache, find: async () => ({ entries: [], received_ts: [], next: null }) };
  const pipeline = { ...store.pipeline, get: async () => state };
  return { ...store, pipeline, ...(waiting.count === 0 && { usercache }) };
}

export async function readFortnight(source: Store, person: PersonStatus, now: number): Promise<Fortnight> {
  const { uuid } = person.user;
  const since = person.figures.registered_ts;
  const known = withStatusFacts(source, person);
  const store = { ...known, corrections: await readCorrections(known, uuid) };
  const today = localDay(now, 'UTC');
  const { days: observed, links } = await readObservedDays(store, uuid, { from: addDays(today, 1 - days), to: today });
  const first = observed.findIndex(({ to, moving_s, staying_s }) => to > since || moving_s + staying_s > 0);
  const range = { from: observed[0]!.from, to: now };
  const isIn = ({ kind, chain_ts }: BriefRecord) => kind === 'trip' && chain_ts >= range.from && chain_ts < range.to;
  const trips = links.filter(isIn).length;
  const labels = await readLabels(store, uuid, range);
  const shares = observed.map((one, i) => (i < first || first < 0 ? null : recordedTime(one, now).share));
  return { shares, trips, labelled: Math.min(trips, labels.labelledTrips) };
}
