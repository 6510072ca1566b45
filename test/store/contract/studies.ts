// Contract: studies, joining them, and what is kept of tokens.
import { expect, it } from 'vitest';
import type { StudySettings } from '../../../src/model/study.ts';
import { studySettings } from '../../support/study.ts';
import { newId, noRows, same, type Use } from './kit.ts';

const hash = (): string => `${newId()}${newId()}`.replaceAll('-', '');

export function studyTests(use: Use): void {
  /** A new study, which is stored. */
  const newStudy = async (fields: Partial<StudySettings> = {}): Promise<StudySettings> => {
    const name = `s${newId().slice(0, 13)}`;
    const config = { version: 3, 'a.b': { $c: '\u0000\ud800' } };
    const limits = { hour_limit: 100, total_limit: 1000 };
    const study = studySettings({ name, subgroups: ['a', 'B'], ...limits, created_ts: 5.5, config, ...fields });
    await use.store.studies.put(study);
    return study;
  };
  const enrolment = (study: string, fields: object = {}) => ({
    study,
    subgroup: 'a',
    email: `${study}_a_${newId()}`,
    token: { hash: hash(), created_ts: 7, expires_ts: null, kind: 'study' as const },
    now: 7,
    ...fields,
  });

  /** Joins, and returns the new account. */
  const enrolled = async (request: ReturnType<typeof enrolment>) => {
    const result = await use.store.studies.enrol(request);
    return (result as Extract<typeof result, { enrolled: unknown }>).enrolled;
  };

  it('the study token of an erased person, known by 64 bits of its hash, does not join until it is readmitted', async () => {
    const { studies, erase } = use.store;
    const study = await newStudy();
    const one = enrolment(study.name);
    const { uuid } = await enrolled(one);
    expect(await studies.remove(study.name)).toBe(1);
    await erase(uuid);
    const same64 = { ...one.token, hash: one.token.hash.slice(0, 16).padEnd(64, '0') };
    for (const token of [one.token, same64])
      expect(await studies.enrol({ ...one, token })).toEqual({ refused: 'erased' });
    for (const method of ['hasErased', 'readmit'] as const) {
      expect(await studies[method](study.name, hash())).toBe(false);
      expect(await studies[method](study.name, one.token.hash)).toBe(true);
    }
    expect(await studies.readmit(study.name, one.token.hash)).toBe(false);
    expect(await studies.enrol(one)).toHaveProperty('enrolled');
    const other = await newStudy();
    expect(await studies.remove(other.name)).toBe(0);
    expect(await studies.byName(other.name)).toBeNull();
  });

  it('a study keeps its settings, is found by name and listed, and keeps its number of joins when its settings change', async () => {
    const { studies } = use.store;
    const [first, second] = [await newStudy(), await newStudy({ config: null, subgroups: [] })];
    same(await studies.byName(first.name), { ...first, joins: 0 });
    expect(await studies.byName('nobody')).toBeNull();
    await studies.enrol(enrolment(first.name));
    await studies.put({ ...first, open: false });
    expect(await studies.byName(first.name)).toMatchObject({ open: false, joins: 1 });
    const names = (await studies.list()).map(({ name }) => name);
    expect(names).toEqual([...names].sort());
    expect(names).toEqual(expect.arrayContaining([first.name, second.name]));
  });

  it('a person who joins gets an account in the study, opened by the token; joining again changes nothing', async () => {
    const { studies, users, tokens } = use.store;
    const study = await newStudy();
    const request = enrolment(study.name);
    const user = await enrolled(request);
    const fields = { user_email: request.email, update_ts: 7, study: study.name, subgroup: 'a', joined_ts: 7 };
    expect(user).toEqual({ uuid: user.uuid, ...fields });
    same(await users.byEmail(request.email), user);
    same(await tokens.byHash(request.token.hash), { ...request.token, user_id: user.uuid });
    const again = await studies.enrol({ ...request, email: `${request.email}2`, now: 99 });
    expect(again).toEqual({ known: user });
    expect((await studies.byName(study.name))?.joins).toBe(1);
    expect(await users.byEmail(`${request.email}2`)).toBeNull();
  });

  it('joining fails if the study is unknown, closed, by list or full, or if the name or subgroup is wrong', async () => {
    const { studies } = use.store;
    const refused = async (fields: Partial<StudySettings>, asked: object = {}) =>
      studies.enrol(enrolment((await newStudy(fields)).name, asked));
    expect(await studies.enrol(enrolment('nothing'))).toEqual({ refused: 'no_study' });
    expect(await refused({ open: false })).toEqual({ refused: 'closed' });
    expect(await refused({ joining: 'list' })).toEqual({ refused: 'list_only' });
    expect(await refused({}, { subgroup: 'c' })).toEqual({ refused: 'no_subgroup' });
    expect(await refused({ total_limit: 0 })).toEqual({ refused: 'all_full' });
    expect(await refused({ hour_limit: 0 })).toEqual({ refused: 'hour_full' });
    const taken = `${newId()}@example.org`;
    await use.store.users.register(taken, { now: 1 });
    expect(await refused({}, { email: taken })).toEqual({ refused: 'name_taken' });
    const byOperator = await refused({ open: false, joining: 'list', total_limit: 0 }, { byOperator: true });
    expect(byOperator).toHaveProperty('enrolled');
  });

  it('of many people who join simultaneously, only as many as the limits allow are accepted, and more in the next hour', async () => {
    const study = await newStudy({ hour_limit: 3, total_limit: 5 });
    const join = (now: number) => use.atOnce(8, (store) => store.studies.enrol(enrolment(study.name, { now })));
    const first = await join(7);
    expect(first.filter((one) => 'enrolled' in one)).toHaveLength(3);
    expect(first.filter((one) => 'refused' in one && one.refused === 'hour_full')).toHaveLength(5);
    const later = await join(7 + 3600);
    expect(later.filter((one) => 'enrolled' in one)).toHaveLength(2);
    expect(later.filter((one) => 'refused' in one && one.refused === 'all_full').length).toBeGreaterThan(0);
  });

  it('people join only by the latest name for joining, and all names find the study', async () => {
    const { studies } = use.store;
    const study = await newStudy();
    const next = `${study.name}-2`;
    await studies.put({ ...study, join_names: [study.name, next] });
    expect(await studies.enrol(enrolment(study.name))).toEqual({ refused: 'no_study' });
    expect(await enrolled(enrolment(next))).toMatchObject({ study: study.name });
    for (const name of [study.name, next]) expect((await studies.byJoinName(name))?.name).toBe(study.name);
    expect(await studies.byJoinName('nobody')).toBeNull();
  });

  it('accounts without an entry are removed by the time of joining, and joining removes none', async () => {
    const { studies, users, tokens, usercache, profiles } = use.store;
    const study = await newStudy({ total_limit: 3 });
    const join = async (now: number, fields: object = {}) => {
      const result = await studies.enrol(enrolment(study.name, { now, ...fields }));
      return 'enrolled' in result ? result : null;
    };
    const made = (await join(1, { byOperator: true }))!.enrolled;
    const [idle, busy] = [(await join(1))!.enrolled, (await join(2))!.enrolled];
    // An empty push shows in the profile, and is no entry.
    await usercache.put(idle.uuid, { entries: [], unusable: [], note: { set: { a: 1 } } }, 5);
    expect(await users.byUuid(idle.uuid)).toEqual(idle);
    expect(await profiles.get(idle.uuid)).toMatchObject({ a: 1 });
    await usercache.put(busy.uuid, { entries: [], unusable: [{ entry: 1, reason: 'r', message: 'm' }] }, 9);
    expect(await users.byUuid(busy.uuid)).toEqual({ ...busy, sent_ts: 9 });
    const week = 7 * 86_400;
    expect(await join(1 + week)).toBeNull();
    expect(await studies.removeIdle(study.name, { to: 1.5, limit: 9 })).toEqual([idle]);
    const late = (await join(1.5 + week))!;
    expect(late.lastHour).toBe(1);
    const left = [await users.byUuid(idle.uuid), await tokens.list(idle.uuid), await profiles.get(idle.uuid)];
    expect(left).toEqual([null, [], null]);
    expect(await use.store.counts(idle.uuid)).toEqual(noRows);
    expect(await studies.removeIdle(study.name, { from: 2 + week, limit: 9 })).toEqual([]);
    expect(await studies.removeIdle(study.name, { from: 1.5 + week, limit: 9 })).toEqual([late.enrolled]);
    expect(await studies.removeIdle(study.name, { limit: 9 })).toEqual([]);
    expect(await users.byUuid(made.uuid)).toEqual(made);
    expect((await studies.byName(study.name))?.joins).toBe(4);
  });

  it('an account with rejected entries only is kept, and idle accounts after it are removed', async () => {
    const { studies, users, errors } = use.store;
    const study = await newStudy();
    const imported = await enrolled(enrolment(study.name, { now: 1 }));
    const idle = await enrolled(enrolment(study.name, { now: 2 }));
    const times = { first_ts: 1, last_ts: 1, tries: 1, received_ts: 1 };
    await errors.put(imported.uuid, [{ id: 'a', entry: 1, identity: null, reason: 'r', message: 'm', ...times }]);
    expect(await studies.removeIdle(study.name, { limit: 1 })).toEqual([idle]);
    expect(await studies.removeIdle(study.name, { limit: 1 })).toEqual([]);
    expect(await users.byUuid(imported.uuid)).toEqual(imported);
  });

  it('simultaneous joins with one token make one account', async () => {
    const study = await newStudy();
    const { token } = enrolment(study.name);
    const results = await use.atOnce(10, (store) => store.studies.enrol(enrolment(study.name, { token })));
    const uuids = results.map((one) => ('enrolled' in one ? one.enrolled : 'known' in one ? one.known : null)?.uuid);
    expect(new Set(uuids).size).toBe(1);
    expect(results.filter((one) => 'enrolled' in one).length).toBeLessThanOrEqual(1);
    expect((await use.store.users.byUuid(uuids[0]!))?.study).toBe(study.name);
  });
}
