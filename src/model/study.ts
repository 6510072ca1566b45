// A study whose app makes its own tokens: its settings, who may join, and the tokens' shape.
import type { JsonObject } from './json.ts';

/** The settings of a study. */
export interface StudySettings {
  /** Lower case letters, digits and hyphens: it stands in tokens, links and the name of its configuration file. */
  name: string;
  /** Parts of the study that people join; empty: everybody is in `default`. */
  subgroups: string[];
  /** `open`: anybody with the link can join; `list`: only people with a token made here before. */
  joining: 'open' | 'list';
  /** False: new people cannot join; members are served as before. */
  open: boolean;
  /** New people an hour, and in all. */
  hour_limit: number;
  total_limit: number;
  created_ts: number;
  /** The configuration that the app reads, with a `version`; null until it was made. */
  config: JsonObject | null;
}

/** The number of people who joined: in total, and since the current hour began. */
export interface JoinCount {
  total: number;
  /** Seconds since the epoch. */
  hour_start: number;
  hour: number;
}

/** A study as the store keeps it. */
export interface StudyRecord extends StudySettings {
  joined: JoinCount;
}

/** The subgroup of studies without subgroups. */
export const defaultSubgroup = 'default';

/** Nobody has joined yet. */
export const nobodyJoined: JoinCount = { total: 0, hour_start: 0, hour: 0 };

/** True for a name that a study, or with capitals a subgroup, can have: it stands between underscores in a token. */
export function isStudyName(name: string): boolean {
  return /^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/.test(name);
}

/** As `isStudyName`, for subgroups: capitals too. */
export function isSubgroupName(name: string): boolean {
  return name !== 'test' && /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,38}[A-Za-z0-9])?$/.test(name);
}

/** What an app-made token says. */
export interface StudyToken {
  study: string;
  subgroup: string;
}

/** Characters that a token's random part has at least: the app makes 32, and 16 cannot be guessed. */
const leastRandom = 16;

/**
 * What a token made by the app says: `nrelop_<study>_<subgroup>_<random>`, for a tester
 * `nrelop_<study>_<subgroup>_test_<random>`. Null for any other text.
 */
export function readStudyToken(token: string): StudyToken | null {
  const parts = token.split('_');
  const [scheme, study, subgroup, ...rest] = parts;
  const random = rest.length === 2 && rest[0] === 'test' ? rest[1] : rest.length === 1 ? rest[0] : undefined;
  if (scheme !== 'nrelop' || study === undefined || subgroup === undefined || random === undefined) return null;
  if (!isStudyName(study) || !isSubgroupName(subgroup)) return null;
  return new RegExp(`^[A-Za-z0-9]{${leastRandom},128}$`).test(random) ? { study, subgroup } : null;
}

/** Why somebody cannot join. */
export type JoinRefusal = 'no_study' | 'closed' | 'list_only' | 'no_subgroup' | 'hour_full' | 'all_full';

const hour = 3600; // s

/**
 * The count with one more person, or the reason for a refusal. `byOperator`: an operator makes the token; the study may
 * be closed and limits do not apply, but the subgroup must exist.
 */
export function admit(
  study: StudyRecord | null,
  { subgroup, now, byOperator = false }: { subgroup: string; now: number; byOperator?: boolean },
): { joined: JoinCount } | { refused: JoinRefusal } {
  if (study === null) return { refused: 'no_study' };
  const known = study.subgroups.length === 0 ? subgroup === defaultSubgroup : study.subgroups.includes(subgroup);
  if (!byOperator && !study.open) return { refused: 'closed' };
  if (!known) return { refused: 'no_subgroup' };
  if (!byOperator && study.joining === 'list') return { refused: 'list_only' };
  const { total, hour_start, hour: inHour } = study.joined;
  const same = inHour > 0 && now >= hour_start && now < hour_start + hour;
  const next = { total: total + 1, hour_start: same ? hour_start : now, hour: same ? inHour + 1 : 1 };
  if (byOperator) return { joined: { ...study.joined, total: next.total } };
  if (next.total > study.total_limit) return { refused: 'all_full' };
  return next.hour > study.hour_limit ? { refused: 'hour_full' } : { joined: next };
}
