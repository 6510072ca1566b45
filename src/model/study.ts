import type { JsonObject } from './json.ts';
import type { TokenRecord, UserRecord } from './user.ts';

export interface StudySettings {
  /** Lower case letters, digits and hyphens. Never changes. */
  name: string;
  /** Names in links and tokens. New people join by the last name; members may use earlier names. */
  join_names: string[];
  /** Empty: the study has only the subgroup `default`. */
  subgroups: string[];
  /** `list`: only people with a token that an operator made can join. */
  joining: 'open' | 'list';
  /** False: new people cannot join. Members can still use the service. */
  open: boolean;
  /** The most people who may join within an hour, and the most members. */
  hour_limit: number;
  total_limit: number;
  created_ts: number;
  listed?: boolean;
  /** True: managers see names of people; false: pseudonyms. */
  show_names?: boolean;
  /** The language of invitations, and of texts for readers of other languages. Absent: English. */
  language?: string;
  /** Secret of pseudonyms in exports from pages; absent: no page has made an export. */
  export_key?: string;
  /** The configuration of the app, with a `version`; null until it is made. */
  config: JsonObject | null;
}

export interface StudyRecord extends StudySettings {
  joins: number;
}

export const joinNameOf = ({ join_names }: StudySettings): string => join_names.at(-1)!;

export const defaultSubgroup = 'default';

export const subgroupsOf = ({ subgroups }: Pick<StudySettings, 'subgroups'>): readonly string[] =>
  subgroups.length === 0 ? [defaultSubgroup] : subgroups;

/** A name has no underscore, because tokens have the name between underscores. */
export function isStudyName(name: string): boolean {
  return /^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/.test(name);
}

/** A name may have capitals. It must not be `test`, which marks tokens of testers. */
export function isSubgroupName(name: string): boolean {
  return name !== 'test' && /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,38}[A-Za-z0-9])?$/.test(name);
}

interface StudyToken {
  study: string;
  subgroup: string;
}

/** The app makes 32 random characters; 16 cannot be guessed. Tokens of testers have `test`. */
const tokenPattern = /^nrelop_([^_]+)_([^_]+)_(?:test_)?[A-Za-z0-9]{16,128}$/;

/** Reads `nrelop_<study>_<subgroup>_<random>`. null: any other text. */
export function readStudyToken(token: string): StudyToken | null {
  const [, study = '', subgroup = ''] = tokenPattern.exec(token) ?? [];
  return isStudyName(study) && isSubgroupName(subgroup) ? { study, subgroup } : null;
}

type JoinRefusal = 'no_study' | 'closed' | 'list_only' | 'no_subgroup' | 'hour_full' | 'all_full';

export interface Enrolment extends StudyToken {
  email: string;
  token: Omit<TokenRecord, 'user_id'>;
  now: number;
  /** A token of an operator is valid even if the study is closed or has reached a limit. */
  byOperator?: boolean;
}

/** `known`: the token was enrolled before. `lastHour`: includes the new person. */
export type EnrolResult =
  | { enrolled: UserRecord; study: StudyRecord; lastHour: number }
  | { known: UserRecord }
  | { refused: JoinRefusal | 'erased' | 'name_taken' | 'token_taken' };

/** Returns why a person cannot join; null: the study accepts the person, within its limits. */
export function joinRefusal(
  study: StudyRecord | null,
  { study: name, subgroup, byOperator = false }: StudyToken & { byOperator?: boolean },
): JoinRefusal | null {
  if (study === null || joinNameOf(study) !== name) return 'no_study';
  if (!byOperator && !study.open) return 'closed';
  if (!subgroupsOf(study).includes(subgroup)) return 'no_subgroup';
  return !byOperator && study.joining === 'list' ? 'list_only' : null;
}

/** s; the time in which at most `hour_limit` people may join */
export const joinWindow = 3600;

/** s; the age when an account without data expires. Phones push every hour. */
export const idleLife = 7 * 86_400;

/** s from the first entries; in this time, an account that joined by a link has narrow limits. */
const trialLength = 3 * 86_400;

/** True for a person who joined by a link, and whose first data are missing or less than `trialLength` old. */
export function isNewMember({ joined_ts, sent_ts }: UserRecord, now: number): boolean {
  return joined_ts !== undefined && (sent_ts === undefined || now < sent_ts + trialLength);
}

export interface MemberCount {
  members: number;
  joined_last_hour: number;
  never_pushed: number;
}

export const noMembers = (): MemberCount => ({ members: 0, joined_last_hour: 0, never_pushed: 0 });

export function countMember(count: MemberCount, { joined_ts, sent_ts }: UserRecord, now: number): void {
  count.members += 1;
  if (joined_ts !== undefined && joined_ts > now - joinWindow) count.joined_last_hour += 1;
  if (sent_ts === undefined) count.never_pushed += 1;
}
