// Accounts of managers and people on MongoDB, through the server: signing in, joining, pushing, and the diary.
import { expect, it } from 'vitest';
import { silentLog } from '../../../src/log/log.ts';
import { runPipeline } from '../../../src/pipeline/run-pipeline.ts';
import { passwordHash } from '../../../src/web/password-hash.ts';
import { androidLocation, config, now, openKit } from '../../server/kit.ts';
import { describeOnServers, newStoreOn } from '../../store/servers.ts';
import { managerRecord, studySettings } from '../../support/study.ts';

describeOnServers('on MongoDB', (server) => {
  it('a manager signs in, simultaneous wrong passwords are all counted, and a person joins, pushes and gets a day', async () => {
    const { store } = await newStoreOn(server());
    const kit = await openKit({ store, config: { ...config, auth: 'token' } });
    await store.studies.put(studySettings());
    const password = await passwordHash('a password for tests');
    await store.managers.change('mira', () => managerRecord({ password }));
    const signIn = (given: string) => kit.form('/sign-in/study', { name: 'mira', password: given });
    const wrong = await Promise.all(Array.from({ length: 4 }, () => signIn('wrong')));
    expect(wrong.map(({ status }) => status)).toEqual([403, 403, 403, 403]);
    expect(await store.managers.byName('mira')).toMatchObject({ failures: 4 });
    const right = await signIn('a password for tests');
    expect(right.status).toBe(303);
    expect(await store.managers.byName('mira')).toMatchObject({ failures: 0, sessions: [expect.anything()] });
    const headers = { Cookie: right.headers.get('set-cookie')!.split(';')[0]! };
    expect((await kit.request('/study/sunny', { headers })).status).toBe(200);
    expect((await store.managers.list()).map(({ name }) => name)).toEqual(['mira']);

    const user = 'nrelop_sunny_default_AbCdEfGhIjKlMnOpQrStUvWxYz012345';
    const joined = await kit.post('/profile/create', { user });
    expect(joined.status).toBe(200);
    expect((await kit.put([androidLocation(now - 60)], user)).json).toMatchObject({ inserted: 1, rejected: 0 });
    const ran = await runPipeline(store, String(joined.json.uuid), { log: silentLog, now: () => now });
    expect(ran.status).toBe('done');
    expect((await kit.post('/timeline/getTrips/2016-05-17', { user })).json).toEqual({ timeline: [] });

    await store.managers.change('mira', () => null);
    expect((await kit.request('/study/sunny', { headers })).status).toBe(303);
  });
});
