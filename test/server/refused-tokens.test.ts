// Phones whose token is refused: what the log, `mobility status` and the metrics report.
import { beforeEach, expect, it } from 'vitest';
import { run as runOn } from '../cli/kit.ts';
import { until } from '../support/until.ts';
import { androidLocation, basic, config, countedCalls, type Kit, now, openKit } from './kit.ts';

let kit: Kit;
let ada: string;
let clock: number;
beforeEach(async () => {
  clock = now;
  kit = await openKit({ config: { ...config, auth: 'token' }, metrics: countedCalls(), now: () => clock });
  ada = (await kit.user('ada, of Berlin')).uuid;
});

const run = async (...args: string[]) => {
  const result = await runOn(args, { env: { MOBILITY_STORE: kit.store.address }, now: clock });
  expect(result.stderr).not.toContain('MOBILITY_');
  return result.stdout;
};
const makeToken = async (...flags: string[]): Promise<{ id: string; token: string }> =>
  JSON.parse(await run('users', 'token', ada, '--json', ...flags));
const push = (user: string) => kit.put([androidLocation(5)], user);
const pushOwnTracks = (name: string, password: string) =>
  kit.post('/pub', { _type: 'location', tst: 1, lat: 1, lon: 1 }, basic(name, password));
const messages = (): string[] => kit.log.map((line) => line.replace(/:w1-\d+:/, ': ').replace(/\+\d\d:\d\d/, ''));
const refusalOf = async (): Promise<string> => {
  await until(async () => (await kit.store.profiles.get(ada))?.last_refusal_ts === clock);
  return /refused\. It is (.*?)\.$/m.exec(await run('doctor', '--user', ada))?.[1] ?? 'none';
};

it('the log and the status of the user name a token that was revoked, replaced or has expired', async () => {
  const pass = (seconds: number): void => {
    clock += seconds;
  };
  for (const [why, flags, end] of [
    ['revoked', [], (id: string) => run('users', 'revoke', ada, id)],
    ['replaced', [], () => run('users', 'token', ada, '--replace')],
    ['expired', ['--expires', '1'], () => pass(86_400)],
  ] as const) {
    const { id, token } = await makeToken(...flags);
    expect((await push(token)).status).toBe(200);
    await end(id);
    pass(120);
    kit.log.length = 0;
    const { status, json } = await push(token);
    expect([status, json.detail]).toEqual([403, expect.stringMatching(/^this token (was revoked|has expired)/)]);
    expect(JSON.stringify(json)).not.toContain(id);
    const refused = expect.stringMatching(`^WARNING: Refused token ${id}, ${why} on \\S+, of ada, of Berlin$`);
    expect(messages()).toEqual(expect.arrayContaining([refused, `INFO: user_uuid ${ada}`]));
    expect(await refusalOf()).toMatch(new RegExp(`^token ${id}, ${why} on \\S+, last tried 0 s ago$`));
    expect(await run('status')).toMatch(new RegExp(`refused +ada, of Berlin \\(.*\\): .* token ${id}`));
    expect(await run('users', 'tokens', ada)).toMatch(new RegExp(`^${id} .* ${why} 2016-05-`, 'm'));
  }
  expect(await run('doctor', '--user', ada)).toMatch(/; 1 of \d tokens of phones valid$/m);
  const { token } = await makeToken();
  pass(1);
  await push(token);
  expect(await run('status')).not.toContain('refused');
});

it('they also name a wrong password beside the name of a user, and the metrics count it as caused by the caller', async () => {
  expect((await pushOwnTracks('nobody', 'wrong')).status).toBe(503);
  const { text } = await kit.request('/metrics');
  expect(text).toContain('mobility_calls_total{handler="pub",status="503",cause="caller"} 1');
  expect(messages()).toContainEqual(
    expect.stringMatching(/^WARNING: Answered 503 POST \/pub MOBILITY_FORBIDDEN: this token is not known/),
  );
  const answer = await pushOwnTracks('ada, of Berlin', 'wrong');
  expect(answer.text).not.toMatch(/ada|Berlin/);
  const refused = /^WARNING: Refused token [\da-f]{8}, not known, sent as ada, of Berlin$/;
  expect(messages()).toContainEqual(expect.stringMatching(refused));
  expect(await refusalOf()).toMatch(/^token [\da-f]{8}, not known, last tried /);
  expect([kit.errors, messages().filter((line) => line.startsWith('ERROR'))]).toEqual([[], []]);
});

it('the last use of a token is shown as the hour in the store', async () => {
  const { id, token } = await makeToken();
  clock += 10;
  await push(token);
  await until(async () => (await kit.store.tokens.list(ada))[0]?.used_ts !== undefined);
  expect(await run('users', 'tokens', ada)).toMatch(new RegExp(`^${id} .* 2016-05-18 03:00 to 04:00 +android$`, 'm'));
});

it('an erasure removes the records of revoked tokens too', async () => {
  const { id, token } = await makeToken();
  await run('users', 'revoke', ada, id);
  await run('erase', '--user', ada, '--yes');
  kit.log.length = 0;
  expect((await push(token)).json.detail).toMatch(/^this token is not known/);
  expect(messages().filter((line) => line.includes(id))).toEqual([]);
});
