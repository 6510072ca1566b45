// A phone app of today, as far as its server sees it: its store of rows, its timeline, its matching of labels and its
// dashboard. It follows what the app reads and when; where the app would break on a missing field, this one throws.
import type { Entry } from '../../src/model/entry.ts';
import { distance } from '../../src/model/geo/distance.ts';
import { newUuid } from '../../src/model/ids.ts';
import { answered, checkAnswer } from '../server/kit.ts';
import type { Untyped } from '../support/untyped.ts';
import { words } from '../support/words.ts';

/** A card of the list: what the app shows of a trip, and in `raw` the trip itself. */
export interface Card {
  id: string;
  origin_key: string;
  draft: boolean;
  start_ts: number;
  end_ts: number;
  day: string;
  /** Detected modes. */
  modes: string[];
  labels: Record<string, string | undefined>;
  survey: string | null;
  notes: string[];
  toLabel: boolean;
  /** Points of the line of each section. */
  lines: [number, number][][];
  places: (string | null)[];
  raw: Untyped;
}

const labelKeys = ['mode_confirm', 'purpose_confirm', 'replaced_mode'] as const;
const inputKeys = [
  ...labelKeys.map((key) => `manual/${key}`),
  'manual/trip_user_input',
  'manual/trip_addition_input',
  'manual/place_addition_input',
];

/** What the app needs of the world. */
export interface Phone {
  /** Where the server is, with the slash at the end that every study's address has. */
  connectUrl: string;
  token: string;
  zone: string;
  /** Seconds since the epoch. */
  now: () => number;
}

/**
 * Joins a study by its link, as the app does: makes a token, fetches the configuration of the study, checks the
 * subgroup, and takes the server's address from it. `configAt`: where the app was built to ask.
 */
export async function joinByLink(link: string, configAt: (study: string) => string) {
  const { searchParams } = new URL(link);
  const [study, subgroup] = [searchParams.get('study_config')!, searchParams.get('sub_group') ?? 'default'];
  const response = await fetch(configAt(study));
  if (response.status !== 200) throw new Error(`no configuration of ${study}: ${response.status}`);
  const { opcode, server } = (await response.json()) as Untyped;
  // A list of subgroups counts, even if it is empty.
  const isIn = opcode.subgroups ? opcode.subgroups.includes(subgroup) : subgroup === 'default';
  if (!isIn) throw new Error(`no subgroup ${subgroup} of ${study}`);
  const token = `nrelop_${study}_${subgroup}_${newUuid().replaceAll('-', '')}`;
  return { token, connectUrl: server.connectUrl as string };
}

/** Opens the app: nothing is asked of the server yet. */
export function openPhoneApp({ connectUrl, token, zone, now }: Phone) {
  let rows: Entry[] = [];

  /** As the native plugin calls: only 200 with an object is success. */
  async function call(path: string, body: Record<string, unknown> = {}): Promise<Untyped> {
    const response = await fetch(connectUrl + path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json; charset=UTF-8' },
      body: JSON.stringify({ ...body, user: token }),
    });
    const answer = await answered(response);
    checkAnswer(`/${path.replace(/^\/+/, '')}`, 'POST', answer);
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.text}`);
    return answer.json;
  }

  const findEntries = async (key: string, start_time: number, end_time: number, key_time = 'metadata.write_ts') => {
    const query = { key_list: [key], start_time, end_time, key_time };
    return (await call('/datastreams/find_entries/timestamp', query)).phone_data as Untyped[];
  };

  /** Rows of the phone and of the server, each once: distinguished by when they were written. */
  async function unified(key: string, from: number, to: number): Promise<Untyped[]> {
    const own: Untyped[] = rows.filter(({ metadata: m }) => m.key === key && m.write_ts >= from && m.write_ts <= to);
    const theirs = await findEntries(key, from, to);
    const seen = new Set(own.map((row) => row.metadata.write_ts));
    return [...own, ...theirs.filter((row) => !seen.has(row.metadata.write_ts))];
  }

  const app = {
    /** "Save your code": registers. */
    register: () => call('/profile/create'),
    /** Each start of the app. */
    start: async (fields: Record<string, unknown>) => {
      const profile = await call('/profile/get');
      await call('/profile/update', { update_doc: fields });
      return profile;
    },
    /** The phone senses, or its user enters something. */
    record: (more: readonly Entry[]) => {
      rows = [...rows, ...more];
    },
    /** Writes a label, survey or note. */
    say: (key: string, data: Entry['data'], platform: 'android' | 'ios', at = now()) =>
      app.record([{ metadata: { key, type: 'message', platform, write_ts: at, read_ts: 0, time_zone: zone }, data }]),
    /** The hourly sync: pushes what is there and forgets it. */
    sync: async () => {
      await call('/usercache/put', { phone_to_server: rows, app_version: '2.1.3' });
      rows = [];
      await call('/usercache/get');
    },
    range: () => call('/pipeline/get_range_ts') as Promise<{ start_ts: number | null; end_ts: number | null }>,

    /** The cards of some days: processed trips up to the end of the range, drafts after it. */
    async timeline(from: number, to: number): Promise<Card[]> {
      const range = await app.range();
      const inputs: Untyped[] = [];
      for (const key of inputKeys) inputs.push(...(await unified(key, (range.end_ts ?? 0) - 10, now() + 10)));
      const [first, last] = [Math.max(from, range.start_ts ?? 0), Math.min(to, range.end_ts ?? 0)];
      const processed =
        range.end_ts === null ? [] : await findEntries('analysis/composite_trip', first, last, 'data.end_ts');
      const cards = processed.map(flattened).map(cardOf);
      // The app does not sort: list, next card and last processed trip follow the order of arrival.
      if (cards.some((card, i) => i > 0 && card.end_ts < cards[i - 1]!.end_ts)) throw new Error('trips out of order');
      const drafts = to > (range.end_ts ?? 0) ? await app.drafts(Math.max(from, range.end_ts ?? 0), to) : [];
      return [...cards, ...drafts].map((card) => labelled(card, inputs));
    },

    /** Drafts: from pairs of transitions, and the locations between them. */
    async drafts(from: number, to: number): Promise<Card[]> {
      const transitions = (await unified('statemachine/transition', from, to)).sort((a, b) => a.data.ts - b.data.ts);
      const drafts: Card[] = [];
      let start: number | null = null;
      for (const { data } of transitions) {
        if (starts.includes(data.transition)) start = data.ts;
        else if (ends.includes(data.transition) && start !== null) {
          const fixes = await unified('background/filtered_location', start, data.ts);
          const draft = draftOf(fixes.sort((a, b) => a.data.ts - b.data.ts));
          if (draft !== null) drafts.push(draft);
          start = null;
        }
      }
      return drafts;
    },

    /** Figures of all users, which the dashboard requests. */
    dashboard: (start_time: string, end_time: string) =>
      call('/result/metrics/yyyy_mm_dd', {
        freq: 'D',
        start_time,
        end_time,
        metric_list: { distance: ['mode_confirm'], duration: ['mode_confirm'], count: ['mode_confirm'] },
        is_return_aggregate: true,
        app_config: {},
        aggregate: true,
      }),
    call,
  };
  return app;
}

export type PhoneApp = ReturnType<typeof openPhoneApp>;

const starts: unknown[] = ['local.transition.exited_geofence', 'T_EXITED_GEOFENCE', 1];
const ends: unknown[] = ['local.transition.stopped_moving', 'T_TRIP_ENDED', 2];

/** `data` with the id and the keys of its entry; the app takes places, sections and locations apart in the same way. */
function flattened(entry: Untyped): Untyped {
  const flat = (one: Untyped): Untyped => ({
    ...one.data,
    _id: one._id,
    key: one.metadata.key,
    origin_key: one.metadata.origin_key ?? one.metadata.key,
  });
  const trip = flat(entry);
  return {
    ...trip,
    start_confirmed_place: trip.start_confirmed_place && flat(trip.start_confirmed_place),
    end_confirmed_place: trip.end_confirmed_place && flat(trip.end_confirmed_place),
    locations: trip.locations.map(flat),
    sections: trip.sections.map(flat),
  };
}

function cardOf(trip: Untyped): Card {
  const needed = words(`
    start_fmt_time end_fmt_time start_local_dt end_local_dt start_loc end_loc distance duration user_input additions
  `);
  const missing = needed.filter((name) => trip[name] === undefined || trip[name] === null);
  if (missing.length > 0) throw new Error(`a card without ${missing}`);
  if (!trip.key.endsWith('trip')) throw new Error(`a card of ${trip.key}`);
  const times = [trip.start_local_dt, trip.end_local_dt].flatMap(({ hour, minute }) => [hour, minute]);
  if (!times.every(Number.isInteger)) throw new Error('a card without times of day');
  const summary = trip.inferred_section_summary ?? trip.cleaned_section_summary;
  return {
    id: trip._id.$oid,
    origin_key: trip.origin_key,
    draft: false,
    start_ts: trip.start_ts,
    end_ts: trip.end_ts,
    day: trip.start_fmt_time.split('T')[0],
    modes: Object.keys(summary?.distance ?? {}),
    labels: Object.fromEntries(labelKeys.map((key) => [key, trip.user_input[key]])),
    survey: trip.user_input.trip_user_input?.data.label ?? null,
    notes: trip.additions.map((note: Untyped) => note.data.label),
    toLabel: trip.expectation?.to_label ?? true,
    lines: trip.sections.map((section: Untyped) =>
      trip.locations
        .filter(({ ts }: Untyped) => ts >= section.start_ts && ts <= section.end_ts)
        .map(({ loc }: Untyped) => loc.coordinates),
    ),
    places: [trip.start_confirmed_place?._id.$oid ?? null, trip.end_confirmed_place?._id.$oid ?? null],
    raw: trip,
  };
}

function draftOf(fixes: Untyped[]): Card | null {
  const [first, last] = [fixes[0], fixes.at(-1)];
  if (first === undefined) return null;
  const metres = fixes.slice(1).reduce((sum, fix, i) => sum + distance(fixes[i]!.data, fix.data), 0);
  if (metres < 100 || last.data.ts - first.data.ts < 300) return null;
  return {
    id: `unprocessed_${first.data.ts}_${last.data.ts}`,
    origin_key: 'UNPROCESSED_trip',
    draft: true,
    start_ts: first.data.ts,
    end_ts: last.data.ts,
    ...{ day: '', modes: [], labels: {}, survey: null, notes: [], lines: [], places: [] },
    toLabel: true,
    raw: {},
  };
}

/** The app's own matching: the last row that the server has not put into the trip yet, else the input in the trip. */
function labelled(card: Card, inputs: Untyped[]): Card {
  if (!card.origin_key.endsWith('trip')) return card;
  const own = inputs
    .filter(({ metadata, data }) => !metadata.key.startsWith('manual/place') && fits(card, data))
    .sort((a, b) => a.metadata.write_ts - b.metadata.write_ts);
  const last = (key: string): Untyped => own.findLast((input) => input.metadata.key === key);
  const labels = { ...card.labels };
  for (const key of labelKeys) labels[key] = last(`manual/${key}`)?.data.label ?? labels[key];
  const survey = last('manual/trip_user_input')?.data.label ?? card.survey;
  const notes = own.filter((input) => input.metadata.key === 'manual/trip_addition_input');
  const all = [...notes, ...(card.raw.additions ?? [])];
  const deleted = new Set(all.filter(({ data }) => data.status === 'DELETED').map(({ data }) => data.match_id));
  const kept = all.filter(({ data }) => data.status !== 'DELETED' && !deleted.has(data.match_id));
  const shown = new Map(kept.map((note) => [note.data.match_id, note]));
  const toLabel = card.toLabel && (labels.mode_confirm === undefined || labels.purpose_confirm === undefined);
  return { ...card, labels, survey, notes: [...shown.values()].map((note) => note.data.label), toLabel };
}

/** Whether an input belongs to a trip; in these histories it has the times of a draft or of a trip. */
function fits({ draft, start_ts, end_ts }: Card, input: Untyped): boolean {
  const [before, after] = draft ? [900, 0] : [0, 900];
  return input.start_ts >= start_ts - before && input.start_ts < end_ts && input.end_ts <= end_ts + after;
}
