import type { JsonObject } from './json.ts';
import type { TokenRecord, UserRecord } from './user.ts';

export interface StudySettings {
  /** Lower case letters, digits and hyphens. The name of a study never changes. */
  name: string;
  /**
   * Names in links, tokens and the name of the configuration file, by which people join. They have the characters of
   * `name`. Only the last admits new people. Members with an earlier name in their token can join with a new phone.
   */
  join_names: string[];
  /** Subgroups that people join; empty: all people are in `default`. */
  subgroups: string[];
  /** `open`: everyone with the link can join. `list`: only people with a token that an operator made. */
  joining: 'open' | 'list';
  /** False: new people cannot join. Members can still use the service. */
  open: boolean;
  /** The maximum number of people who may join within an hour, and the maximum number of members. */
  hour_limit: number;
  total_limit: number;
  created_ts: number;
  /** True: the home page of the server lists the study. */
  listed?: boolean;
  /** True: its managers see the names of people; false: pseudonyms. */
  show_names?: boolean;
  /** Language of its invitations, and of its texts for readers of other languages. Absent: English. */
  language?: string;
  /** Secret of the pseudonyms in exports from web pages; absent: no page has made an export. */
  export_key?: string;
  /** The configuration that the app reads, with a `version`; null until it is made. */
  config: JsonObject | null;
}

export interface StudyRecord extends StudySettings {
  /** How many people have joined, including those who left. */
  joins: number;
}

/** The name by which new people join. */
export const joinNameOf = ({ join_names }: StudySettings): string => join_names.at(-1)!;

/** The subgroup of studies without subgroups. */
export const defaultSubgroup = 'default';

/** True for a valid name of a study. A name has no underscore, because tokens have the name between underscores. */
export function isStudyName(name: string): boolean {
  return /^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/.test(name);
}

/** True for a valid name of a subgroup. It may have capitals. `test` is not valid: it marks tokens of testers. */
export function isSubgroupName(name: string): boolean {
  return name !== 'test' && /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,38}[A-Za-z0-9])?$/.test(name);
}

interface StudyToken {
  /** The name of the study by which the owner of the token joined. */
  study: string;
  subgroup: string;
}

/** At least 16 random characters, so that a token cannot be guessed; the app makes 32. Testers' tokens have `test`. */
const tokenPattern = /^nrelop_([^_]+)_([^_]+)_(?:test_)?[A-Za-z0-9]{16,128}$/;

/** Parses a token that the app made: `nrelop_<study>_<subgroup>_<random>`. null for any other text. */
export function readStudyToken(token: string): StudyToken | null {
  const [, study = '', subgroup = ''] = tokenPattern.exec(token) ?? [];
  return isStudyName(study) && isSubgroupName(subgroup) ? { study, subgroup } : null;
}

type JoinRefusal = 'no_study' | 'closed' | 'list_only' | 'no_subgroup' | 'hour_full' | 'all_full';

/** A person who wants to join a study. */
export interface Enrolment extends StudyToken {
  /** The name of the account, if the enrolment creates one. */
  email: string;
  token: Omit<TokenRecord, 'user_id'>;
  now: number;
  /** True for a token that an operator made: it is valid even if the study is closed or has reached a limit. */
  byOperator?: boolean;
}

/**
 * The result of an enrolment. `known`: the account of a token that was enrolled before. `lastHour`: the number of
 * people who joined in the last hour, including the new person.
 */
export type EnrolResult =
  | { enrolled: UserRecord; study: StudyRecord; lastHour: number }
  | { known: UserRecord }
  | { refused: JoinRefusal | 'erased' | 'name_taken' | 'token_taken' };

/**
 * Why a token for `name` and `subgroup` is refused by `study`; null: it is accepted, within the limits of the study.
 * `byOperator`: an operator registers the person, which is allowed in a closed study, too.
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

/** s; the time in which at most `hour_limit` people may join */
export const joinWindow = 3600;

/** s; an account that joined and sent nothing expires after this time, as phones push every hour */
export const idleLife = 7 * 86_400;

/** s; an account that joined by a link has small limits for this time from its first entries */
const trialLength = 3 * 86_400;

/** True for a person who joined by a link and has not yet sent data for `trialLength`. */
export function isNewMember({ joined_ts, sent_ts }: UserRecord, now: number): boolean {
  return joined_ts !== undefined && (sent_ts === undefined || now < sent_ts + trialLength);
}

export interface MemberCount {
  members: number;
  joined_last_hour: number;
  /** Members without any stored entry. */
  never_pushed: number;
}

/** Counts of zero members, to which `countMember` adds. */
export const noMembers = (): MemberCount => ({ members: 0, joined_last_hour: 0, never_pushed: 0 });

/** Adds a member to `count`. `now` decides whether the member joined in the last hour. */
export function countMember(count: MemberCount, { joined_ts, sent_ts }: UserRecord, now: number): void {
  count.members += 1;
  if (joined_ts !== undefined && joined_ts > now - joinWindow) count.joined_last_hour += 1;
  if (sent_ts === undefined) count.never_pushed += 1;
}
