// A phone whose clock was ahead for a while: what it wrote then takes no part until the time has come that it claims.
import { expect, it } from 'vitest';
import { hasWork } from '../../src/pipeline/run-pipeline.ts';
import { chainOf, pipeline, put } from '../support/diary.ts';
import { t0 } from '../support/phone.ts';
import { commute } from '../support/pushes.ts';
import { newUser, useStore } from '../support/store.ts';

const store = useStore();

const at = (days: number): number => t0 + days * 86_400;
const keysOf = async (user: string): Promise<string[]> =>
  (await store.documents.keys(user)).map((key) => key.replace('diary/trips-', ''));

it.each([30, 200, 400, 4000])(
  'a day that claims to be %d days ahead hides no real day, and makes nothing final',
  async (ahead) => {
    const user = await newUser(store);
    const real = ['2023-11-14', '2023-11-15', '2023-11-16'];
    for (const d of [0, 1, 2]) await put(store, user, commute(d), at(d + 1));
    await put(store, user, commute(2 + ahead), at(3));
    await pipeline(store, user, { now: () => at(3) });
    expect(await keysOf(user)).toEqual(real);
    expect((await store.pipeline.get(user)).complete_until).toBeLessThan(at(3));
    const [figures] = await store.users.figures({ uuid: user });
    const { length: count } = commute(2 + ahead);
    expect(figures!.waiting).toMatchObject({ count, ahead: count });
    expect(figures!.waiting.next_due_ts).toBeGreaterThan(at(2 + ahead) - 1);
    expect(await hasWork(store, user, at(3))).toBe(false);
    await put(store, user, commute(3), at(4));
    await pipeline(store, user, { now: () => at(4) });
    expect(await keysOf(user)).toEqual([...real, '2023-11-17']);
    // The time has come: the next run notices by itself.
    const then = at(2 + ahead + 1);
    expect(await hasWork(store, user, then)).toBe(true);
    await pipeline(store, user, { now: () => then });
    expect(await store.usercache.count(user)).toBe(0);
    expect((await chainOf(store, user)).filter((link) => link.trip).length).toBe(10);
    expect((await keysOf(user)).length).toBe(1);
  },
);
