// The pages of a simulated study over HTTP: a store, an app, a person and a manager who are signed in.
import { expect } from 'vitest';
import type { Act } from '../../src/log/audit-log.ts';
import { createApp } from '../../src/server/app.ts';
import type { AppParts } from '../../src/server/app-parts.ts';
import { freshProgram } from '../cli/kit.ts';
import { appParts } from '../server/kit.ts';
import { openStoreIn } from '../support/store.ts';

export type Pages = Awaited<ReturnType<typeof openPages>>;

interface Simulated {
  users: number;
  days: number;
  now: () => number;
  /** More flags of `mobility study create`. */
  create?: readonly string[];
  /** Simulates people whose phones work well, from this day on, in place of the mixed people of `--study`. */
  well?: { seed: string; from: string };
  parts?: Partial<AppParts>;
}

export const hiddenFields = (form: string): Record<string, string> =>
  Object.fromEntries(
    [...form.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)].map(([, name, value]) => [name!, value!]),
  );

const cookieIn = (answer: Response): string => answer.headers.get('set-cookie')!.split(';')[0]!;

/** Opens the pages of the study sunny, with its first person signed in: `sim-demo-1`, or `sim-SEED-1`. */
export async function openPages(simulated: Simulated) {
  const { users, days, now, create = [], well, parts } = simulated;
  const nameOf = (i: number): string => `sim-${well?.seed ?? 'demo'}-${i}@example.org`;
  const program = await freshProgram();
  const run = (...args: string[]) => program.succeed(args, { now: now() });
  await run('study', 'create', 'sunny', ...create);
  const joined = { now: now() - 9 * 86_400, study: 'sunny' };
  if (well)
    await program.withStore(async (store) => {
      for (let i = 1; i <= users; i += 1) await store.users.register(nameOf(i), joined);
    });
  const chosen = well ? ['--from', well.from, '--seed', well.seed] : ['--study', 'sunny'];
  await run('simulate', '--users', `${users}`, '--days', `${days}`, ...chosen);
  await run('pipeline', '--all');
  const store = await openStoreIn(program.address);
  const acts: Act[] = [];
  const app = createApp(
    appParts({
      store,
      now,
      version: '1.2.3',
      audit: async (act) => void acts.push(act),
      checks: async () => [
        { name: 'store', ok: true, text: 'works' },
        { name: 'backup', ok: false, text: 'no backup is in the audit log', next: 'mobility backup FOLDER' },
        { name: 'people', ok: false, text: '1 person is behind', next: 'mobility status' },
      ],
      ...parts,
    }),
  );
  const request = async (path: string, init: RequestInit): Promise<Response> => app.request(path, init);
  const get = (path: string, cookie: string) => request(path, { headers: { Cookie: cookie } });
  const post = (path: string, fields: URLSearchParams | FormData | Record<string, string>, cookie = '') => {
    const body = fields instanceof FormData ? fields : new URLSearchParams(fields);
    return request(path, { method: 'POST', headers: { Cookie: cookie }, body });
  };
  /** Signs a browser of a person in: its cookie. */
  const openAs = async (who: string): Promise<string> => {
    const { stdout } = await run('users', 'link', who, '--server', 'http://127.0.0.1:8080');
    return cookieIn(await post('/me/open', { key: new URL(stdout.trim()).searchParams.get('key')! }));
  };
  const added = await run('managers', 'add', 'mira', '--study', 'sunny', '--operator', '--may-export');
  const password = added.stdout.trim();
  /** Signs the manager in again, for a time after the session. */
  const signIn = async (): Promise<void> => {
    pages.manager = cookieIn(await post('/sign-in/study', { name: 'mira', password }));
  };
  const pages = {
    ...{ store, app, acts, program, run, signIn, openAs, request, get, post },
    /** Of the manager. */
    password,
    /** Cookies of the browsers of the person and of the manager. */
    person: await openAs(nameOf(1)),
    manager: '',
    /** Sends the first form of a page whose action contains `action`, with these fields beside its hidden ones. */
    send: async (page: string, action: string, fields: Record<string, string | Blob>, cookie: string) => {
      const forms = (await (await get(page, cookie)).text()).match(/<form.*?<\/form>/gs) ?? [];
      const form = forms.find((one) => one.includes(`action="${action}`));
      expect(form, `${action} in ${forms.length} forms`).toBeDefined();
      const path = /action="([^"]*)"/.exec(form!)![1]!.replaceAll('&amp;', '&');
      const body = form!.includes('multipart/form-data') ? new FormData() : new URLSearchParams();
      for (const [name, value] of Object.entries({ ...hiddenFields(form!), ...fields }))
        (body as FormData).set(name, value as string);
      return post(path, body, cookie);
    },
  };
  await signIn();
  return pages;
}
