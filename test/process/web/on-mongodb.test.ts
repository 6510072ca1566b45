// Accounts of managers on MongoDB, through the server. The contract of the store has the accounts of people.
import { expect, it } from 'vitest';
import { passwordHash } from '../../../src/web/password-hash.ts';
import { config, openKit } from '../../server/kit.ts';
import { describeOnServers, newStoreOn } from '../../store/servers.ts';
import { managerRecord, studySettings } from '../../support/study.ts';

describeOnServers('on MongoDB', (server) => {
  it('simultaneous wrong passwords are all counted, and a manager signs in until the account is removed', async () => {
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

    await store.managers.change('mira', () => null);
    expect((await kit.request('/study/sunny', { headers })).status).toBe(303);
  });
});
