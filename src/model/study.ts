// A study whose app makes its own tokens: its settings, who may join, and the tokens' shape.
import type { JsonObject } from './json.ts';
import type { TokenRecord, UserRecord } from './user.ts';

/** The settings of a study. */
export interface StudySettings {
  /** Lower case letters, digits and hyphens; it never changes. */
  name: string;
  /**
   * Names by which people join, in the form of `name`: they stand in links, tokens and the name of the configuration
   * file. Only the last one admits people; members join a new phone to the study by the name in their token.
   */
  join_names: string[];
  /** Parts of the study that people join; empty: everybody is in `default`. */
  subgroups: string[];
  /** `open`: anybody with the link can join; `list`: only people with a token made here before. */
  joining: 'open' | 'list';
  /** False: new people cannot join; members are served as before. */
  open: boolean;
  /** People who may join within an hour, and members in all. */
  hour_limit: number;
  total_limit: number;
  created_ts: number;
  /** True: the first page of the server names the study. */
  listed?: boolean;
  /** True: its managers see the names of people; else pseudonyms. */
  show_names?: boolean;
  /** Language of its sheets, and of its texts for readers of other languages. Absent: English. */
  language?: string;
  /** Secret of the pseudonyms in exports by browser; absent: there was none. */
  export_key?: string;
  /** The configuration that the app reads, with a `version`; null until it was made. */
  config: JsonObject | null;
}

/** A study as the store keeps it. */
export interface StudyRecord extends StudySettings {
  /** How often people joined, including people who left. */
  joins: number;
}

/** The name by which people join now. */
export const joinNameOf = ({ join_names }: StudySettings): string => join_names.at(-1)!;

/** The subgroup of studies without subgroups. */
export const defaultSubgroup = 'default';

/** True for a name that a study, or with capitals a subgroup, can have: a token has it between underscores. */
export function isStudyName(name: string): boolean {
  return /^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/.test(name);
}

/** As `isStudyName`, for subgroups: capitals too. */
export function isSubgroupName(name: string): boolean {
  return name !== 'test' && /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,38}[A-Za-z0-9])?$/.test(name);
}

/** What an app-made token says. */
export interface StudyToken {
  /** The name by which its owner joined. */
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

/** Why a person cannot join. */
export type JoinRefusal = 'no_study' | 'closed' | 'list_only' | 'no_subgroup' | 'hour_full' | 'all_full';

/** A person who wants to join a study. */
export interface Enrolment {
  /** The name by which they join. */
  study: string;
  subgroup: string;
  /** The name of the account, if one is created. */
  email: string;
  /** The token that opens it from then on. */
  token: Omit<TokenRecord, 'user_id'>;
  now: number;
  /** True for a token that an operator made: a closed study, a list and the limits do not stop it. */
  byOperator?: boolean;
}

/**
 * What became of an enrolment. `known`: the token had been enrolled before. `lastHour`: people who joined in the last
 * hour, the new one included. `expired`: accounts that made room.
 */
export type EnrolResult =
  | { enrolled: UserRecord; study: StudyRecord; lastHour: number }
  | { known: UserRecord }
  | { refused: JoinRefusal | 'erased' | 'name_taken' | 'token_taken' };

/**
 * Why a study does not admit a person by `name` to `subgroup`; null: it does, within its limits. `byOperator`: an
 * operator makes the token, also for a closed study.
 */
export function joinRefusal(
  study: StudyRecord | null,
  { study: name, subgroup, byOperator = false }: StudyToken & { byOperator?: boolean },
): JoinRefusal | null {
  if (study === null || joinNameOf(study) !== name) return 'no_study';
  const isPart = study.subgroups.length === 0 ? subgroup === defaultSubgroup : study.subgroups.includes(subgroup);
  if (!byOperator && !study.open) return 'closed';
  if (!isPart) return 'no_subgroup';
  return !byOperator && study.joining === 'list' ? 'list_only' : null;
}

/** s over which joins are counted for `hour_limit`. */
export const joinWindow = 3600;

/**
 * s after which the account of a person who joined and sent nothing expires: a phone pushes every hour that it is on.
 */
export const idleLife = 7 * 86_400;

/** s from its first entries on for which an account that joined by itself has small limits. */
const trialLength = 3 * 86_400;

/** True for a person who joined a study by its link and has not sent data for some days yet. */
export function isNewMember({ joined_ts, sent_ts }: UserRecord, now: number): boolean {
  return joined_ts !== undefined && (sent_ts === undefined || now < sent_ts + trialLength);
}

/** The members of a study, counted. */
export interface MemberCount {
  members: number;
  joined_last_hour: number;
  /** Members of whom no entry was ever stored. */
  never_pushed: number;
}

/** Before the first join. */
export const noMembers = (): MemberCount => ({ members: 0, joined_last_hour: 0, never_pushed: 0 });

/** Counts a member. */
export function countMember(count: MemberCount, { joined_ts, sent_ts }: UserRecord, now: number): void {
  count.members += 1;
  if (joined_ts !== undefined && joined_ts > now - joinWindow) count.joined_last_hour += 1;
  if (sent_ts === undefined) count.never_pushed += 1;
}
