// Simulates the people of a study. Most people use the app as intended; four have one problem each.
//
//   20 people, 30 days, ● pushed after midnight, ○ pushed without locations
//   1 to 16   ●●●●●●●●●●●●●●●●●●●●●●●●●●●●●●   two of three label, answer and name places; 1 switches tracking off once
//   17        ●●●●●●●●●●●●●●●●●●●●●●●●○○○○○○   without locations
//   18        ●●●●●●●●●●●●●●●●●●●●●●●●          refused: the token was revoked
//   19        ●●●●●●●●●●●●●●●●●●●●●●●●          silent
//   20                                          never began
import { putBatch } from '../intake/put-batch.ts';
import type { Correction } from '../model/correction.ts';
import type { Entry } from '../model/entry.ts';
import { newToken } from '../model/ids.ts';
import type { JsonObject } from '../model/json.ts';
import { keys } from '../model/keys.ts';
import { joinNameOf, type StudyRecord, subgroupsOf } from '../model/study.ts';
import { addDays, startOfDay } from '../model/time.ts';
import { tokenHash, type UserRecord } from '../model/user.ts';
import type { Store } from '../store/store.ts';
import { type DayPlan, type PlannedLeg, type PlannedStay, planDay } from './plan-day.ts';
import { seededRandom } from './random.ts';
import type { TravelMode } from './ride.ts';
import { simulateDay } from './simulate-day.ts';
import { towns } from './town.ts';

/** The last person has the first problem, the person before has the second, and so on. */
const problems = ['never_began', 'silent', 'refused', 'no_locations'] as const;
const problemDays = 6; // days of a problem: twice the time after which a person counts as silent
const pushedAfter = 1200; // s after midnight when the phone pushes the previous day
const joinedApart = 20; // s after which the next person joins: fewer join in an hour than the default limit allows
const shortStay = 300; // s; a shorter stay is a wait during a trip
// Local hours between which the first person has tracking off. This happens on the third last day,
// if there are at least 10 days.
const offHours = [11, 15] as const;

interface Member {
  number: number; // from 1 to `of`
  of: number; // number of people
  name: string;
  platform: 'android' | 'ios';
  seed: string;
}

/** Yields the result of each push. */
export async function* simulateMember(
  store: Store,
  study: StudyRecord,
  member: Member,
  { from, days, now }: { from: string; days: number; now: number },
): AsyncGenerator<{ entries: number; inserted: number }> {
  const { number, of, platform, seed } = member;
  const town = towns[0]!;
  const problem = number === 1 ? undefined : problems[of - number];
  const lastGood = problem === undefined ? days : days - problemDays;
  const lastPushed = problem === 'never_began' ? 0 : problem === 'no_locations' ? days : lastGood;
  const joined = startOfDay(from, town.zone) + joinedApart * number;
  const { user, hash } = await enrol(store, study, member, { now: joined, sendsData: lastPushed > 0 });
  for (let i = 0; i < days; i++) {
    const day = addDays(from, i);
    const at = Math.min(now, startOfDay(addDays(day, 1), town.zone) + pushedAfter);
    if (i >= lastPushed) {
      yield { entries: 0, inserted: 0 };
      continue;
    }
    const options = { day, seed, town };
    const isOff = number === 1 && i > 6 && i === days - 3;
    const whole = simulateDay({ ...options, platform });
    const sensed = isOff ? withoutTracking(whole, planDay(options), platform) : whole;
    const kept = i < lastGood ? [...sensed, ...statements(planDay(options), member, i)] : sensed.filter(isNoLocation);
    const { inserted } = await putBatch(user.uuid, kept, { store, now: () => at });
    if (hash !== null) await store.tokens.touch(hash, at - (at % 3600));
    yield { entries: kept.length, inserted };
  }
  if (problem !== 'refused' || hash === null) return;
  await store.tokens.revoke(user.uuid, hash, { ts: now - problemDays * 86_400, why: 'revoked' });
  await store.profiles.merge(user.uuid, { last_refusal_ts: now - 3600, last_refusal_why: 'revoked' });
}

const trackingChanges = {
  android: ['local.transition.stop_tracking', 'local.transition.start_tracking', 'local.transition.initialize'],
  ios: ['T_FORCE_STOP_TRACKING', 'T_START_TRACKING', 'T_INITIALIZE'],
} as const;

function withoutTracking(sensed: readonly Entry[], plan: DayPlan, platform: Member['platform']): Entry[] {
  const [from, to] = offHours.map((hour) => startOfDay(plan.day, plan.zone) + hour * 3600) as [number, number];
  const kept = sensed.filter(({ metadata: { write_ts } }) => write_ts < from || write_ts > to);
  const changes = trackingChanges[platform].map((transition, i) => {
    const ts = i === 0 ? from : to + i;
    const data = { currState: 'local.state.tracking_stopped', transition, ts };
    const entry = stated(keys.transition, data, plan, ts);
    return { ...entry, metadata: { ...entry.metadata, platform } };
  });
  return [...kept, ...changes];
}

const isNoLocation = ({ metadata: { key } }: Entry): boolean => key !== keys.location && key !== keys.filteredLocation;

/**
 * Members who send data join by the link, if the study admits them. An operator enrols all others:
 * accounts from a link without data expire. `hash`: of the new token; null: was enrolled before.
 */
async function enrol(
  { users, studies }: Store,
  study: StudyRecord,
  { name, number }: Member,
  { now, sendsData }: { now: number; sendsData: boolean },
): Promise<{ user: UserRecord; hash: string | null }> {
  const subgroups = subgroupsOf(study);
  const subgroup = subgroups[number % subgroups.length]!;
  const hash = tokenHash(newToken());
  const token = { hash, created_ts: now, expires_ts: null, kind: 'study' } as const;
  const person = { study: joinNameOf(study), subgroup, email: name, token, now };
  let result = await studies.enrol({ ...person, byOperator: !sendsData });
  if ('refused' in result) result = await studies.enrol({ ...person, byOperator: true });
  if ('enrolled' in result) return { user: result.enrolled, hash };
  return { user: (await users.byEmail(name))!, hash: null };
}

const labelOf = (mode: TravelMode): string => (mode === 'car' ? 'drove_alone' : mode);
const purposeOf: Readonly<Record<string, string>> = {
  home: 'home',
  work: 'work',
  lunch: 'meal',
  shop: 'shopping',
  park: 'exercise',
  friend: 'entertainment',
};
const ageGroups = ['18-29', '30-44', '45-64', '65 and older'];

/** Makes answers on the first day, some labels, names of places, and rarely a corrected mode. */
function statements(plan: DayPlan, { number, seed }: Member, index: number): Entry[] {
  if (number % 3 === 0) return [];
  const random = seededRandom('statements', seed, plan.day);
  const correct = (correction: Correction, at: number): Entry =>
    stated(keys.correction, correction as unknown as JsonObject, plan, at);
  const made: Entry[] = [];
  const ts = plan.from + 8 * 3600;
  const answers = seededRandom('answers', seed, plan.day);
  if (index === 0) {
    const person = { age_group: answers.pick(ageGroups), household_bikes: answers.pick(['0', '1', '2', '3']) };
    made.push(stated('manual/demographic_survey', { ts, ...answered('UserProfileSurvey', person) }, plan, ts));
  }
  for (const { legs, to } of tripsOf(plan)) {
    const [longest] = [...legs].sort((a, b) => b.distance - a.distance);
    const [start_ts, end_ts, at] = [legs[0]!.from, legs.at(-1)!.to, legs.at(-1)!.to + 600];
    if (random.chance(0.3)) {
      made.push(stated(keys.modeConfirm, { start_ts, end_ts, label: labelOf(longest!.mode) }, plan, at));
      made.push(stated(keys.purposeConfirm, { start_ts, end_ts, label: purposeOf[to.name] ?? 'other' }, plan, at));
      const form = answered('TripConfirmSurvey', { on_time: answers.chance(0.8) ? 'yes' : 'no' });
      made.push(stated('manual/trip_user_input', { start_ts, end_ts, ...form }, plan, at));
    } else if (random.chance(0.05) && (longest!.mode === 'bus' || longest!.mode === 'car')) {
      made.push(correct({ kind: 'mode', ts: (longest!.from + longest!.to) / 2, mode: longest!.mode }, at));
    }
    const isNamed = index === 0 && (to.name === 'home' || to.name === 'work');
    const name = to.name === 'home' ? 'Home' : 'Work';
    if (isNamed) made.push(correct({ kind: 'place_name', ts: to.from + 120, name }, at + 1));
  }
  return made;
}

/** The app of e-mission sends a form as XML, and as JSON with the attributes of the XML. */
function answered(name: string, answers: Readonly<Record<string, string>>): JsonObject {
  const tags = Object.entries(answers).map(([question, answer]) => `<${question}>${answer}</${question}>`);
  const xmlResponse = `<data id="${name}" version="1">${tags.join('')}</data>`;
  const jsonDocResponse = { data: { ...answers, attrid: name, attrversion: '1' } };
  return { name, version: 1, label: 'Answered', xmlResponse, jsonDocResponse };
}

const stated = (key: string, data: JsonObject, { zone }: DayPlan, write_ts: number): Entry => ({
  metadata: { key, type: 'message', platform: 'other', write_ts, time_zone: zone },
  data,
});

function tripsOf({ steps }: DayPlan): { legs: PlannedLeg[]; to: PlannedStay }[] {
  const trips: { legs: PlannedLeg[]; to: PlannedStay }[] = [];
  let legs: PlannedLeg[] = [];
  for (const step of steps) {
    if (step.kind === 'leg') legs.push(step);
    else if (step.to - step.from >= shortStay && legs.length > 0) {
      trips.push({ legs, to: step });
      legs = [];
    }
  }
  return trips;
}
