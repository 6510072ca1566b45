// The pages of a simulated study over HTTP: a store, an app, a person and a manager who are signed in.
import { expect } from 'vitest';
import type { Act } from '../../src/log/audit-log.ts';
import { createApp } from '../../src/server/app.ts';
import type { Store } from '../../src/store/store.ts';
import { type CommandResult, freshProgram } from '../cli/kit.ts';
import { appParts } from '../server/kit.ts';
import { openStoreIn } from '../support/store.ts';

export interface Pages {
  store: Store;
  /** Acts of the audit log. */
  acts: Act[];
  run(...args: string[]): Promise<CommandResult>;
  /** Cookies of the browsers of the person and of the manager. */
  person: string;
  manager: string;
  /** Signs the manager in again, for a time after the session. */
  signIn(): Promise<void>;
  get(path: string, cookie: string): Promise<Response>;
  request(path: string, init: RequestInit): Promise<Response>;
  /** Sends the first form of a page whose action contains `action`, with these fields beside its hidden ones. */
  send(page: string, action: string, fields: Record<string, string | Blob>, cookie: string): Promise<Response>;
}

/** Opens the pages of the study sunny with `users` people and `days` days, whose first person is `sim-demo-1`. */
export async function openPages(
  { users, days, now }: { users: number; days: number; now: () => number },
  ...create: string[]
): Promise<Pages> {
  const program = await freshProgram();
  const run = (...args: string[]) => program.succeed(args, { now: now() });
  await run('study', 'create', 'sunny', ...create);
  await run('simulate', '--study', 'sunny', '--users', `${users}`, '--days', `${days}`);
  await run('pipeline', '--all');
  const store = await openStoreIn(program.address);
  const acts: Act[] = [];
  const app = createApp(
    appParts({
      store,
      now,
      audit: async (act) => void acts.push(act),
      checks: async () => [
        { name: 'store', ok: true, text: 'works' },
        { name: 'backup', ok: false, text: 'the audit log shows none', next: 'mobility backup FOLDER' },
        { name: 'people', ok: false, text: '1 person is behind', next: 'mobility status' },
      ],
    }),
  );
  const get = async (path: string, cookie: string): Promise<Response> =>
    app.request(path, { headers: { Cookie: cookie } });
  const post = async (path: string, body: URLSearchParams | FormData, cookie = ''): Promise<Response> =>
    app.request(path, { method: 'POST', headers: { Cookie: cookie }, body });
  const cookieAfter = async (path: string, fields: Record<string, string>): Promise<string> =>
    (await post(path, new URLSearchParams(fields))).headers.get('set-cookie')!.split(';')[0]!;
  const link = (
    await run('users', 'link', 'sim-demo-1@example.org', '--server', 'http://127.0.0.1:8080')
  ).stdout.trim();
  const password = (
    await run('managers', 'add', 'mira', '--study', 'sunny', '--operator', '--may-export')
  ).stdout.trim();
  const signedIn = (): Promise<string> => cookieAfter('/sign-in/study', { name: 'mira', password });
  const pages: Pages = {
    store,
    acts,
    run,
    person: await cookieAfter('/me/open', { key: new URL(link).searchParams.get('key')! }),
    manager: await signedIn(),
    signIn: async () => {
      pages.manager = await signedIn();
    },
    get,
    request: async (path, init) => app.request(path, init),
    send: async (page, action, fields, cookie) => {
      const forms = (await (await get(page, cookie)).text()).match(/<form.*?<\/form>/gs) ?? [];
      const form = forms.find((one) => one.includes(`action="${action}`));
      expect(form, `${action} in ${forms.length} forms`).toBeDefined();
      const path = /action="([^"]*)"/.exec(form!)![1]!.replaceAll('&amp;', '&');
      const isMultipart = form!.includes('multipart/form-data');
      const body = isMultipart ? new FormData() : new URLSearchParams();
      for (const [, name, value] of form!.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g))
        body.set(name!, value!);
      for (const [name, value] of Object.entries(fields)) (body as FormData).set(name, value as string);
      return post(path, body, cookie);
    },
  };
  return pages;
}
