// A headless Chromium without a driver: the DevTools protocol over a pipe. Tests that need it ask `browserPath` first.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { isHere } from './needs.ts';

/** Where the browser is; null where there is none. */
export function browserPath(): string | null {
  const tool = fileURLToPath(new URL('../../tools/browser.mjs', import.meta.url));
  const { status, stdout } = spawnSync(process.execPath, [tool], { encoding: 'utf8' });
  return isHere('a browser: `npm run test:browser`', status === 0) ? stdout.trim() : null;
}

interface Message {
  id?: number;
  method?: string;
  params?: Record<string, unknown>;
  result?: Record<string, unknown>;
  error?: { message: string };
}

export interface BrowserPage {
  /** Opens an address; resolves when it is loaded. */
  open(url: string): Promise<void>;
  /** Follows the first link that a selector finds; resolves when its page is loaded. */
  follow(selector: string): Promise<void>;
  /** Addresses asked for since the page was made. */
  requests: readonly string[];
  /** What scripts and the policy of the page complained about. */
  complaints: readonly string[];
  /** The value of an expression in the page; promises are waited for. */
  value<T>(expression: string): Promise<T>;
  send<T = Record<string, unknown>>(method: string, params?: object): Promise<T>;
  press(key: 'Tab' | 'Enter'): Promise<void>;
  close(): Promise<void>;
}

const keyCodes = { Tab: 9, Enter: 13 };

/** Starts `program` and gives its one page. */
export async function openBrowser(program: string): Promise<BrowserPage> {
  const profile = await mkdtemp(join(tmpdir(), 'mobility-browser-'));
  const flags = ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run'];
  const quiet = ['--disable-background-networking', '--disable-component-update', '--disable-sync'];
  const child = spawn(
    program,
    [...flags, ...quiet, '--remote-debugging-pipe', `--user-data-dir=${profile}`, 'about:blank'],
    { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] },
  );
  const link = linkTo(child);
  const { targetInfos } = await link.send<{ targetInfos: { targetId: string; type: string }[] }>('Target.getTargets');
  const { targetId } = targetInfos.find(({ type }) => type === 'page')!;
  const { sessionId } = await link.send<{ sessionId: string }>('Target.attachToTarget', { targetId, flatten: true });
  const send = <T>(method: string, params: object = {}): Promise<T> => link.send<T>(method, params, sessionId);
  const requests: string[] = [];
  const complaints: string[] = [];
  link.on('Network.requestWillBeSent', ({ request }) => requests.push((request as { url: string }).url));
  link.on('Log.entryAdded', ({ entry }) => complaints.push((entry as { text: string }).text));
  link.on('Runtime.exceptionThrown', (params) => complaints.push(JSON.stringify(params)));
  for (const domain of ['Page', 'Network', 'Log', 'Runtime']) await send(`${domain}.enable`);
  return {
    requests,
    complaints,
    send,
    async open(url) {
      const loaded = link.next('Page.loadEventFired');
      await send('Page.navigate', { url });
      await loaded;
    },
    async follow(selector) {
      const loaded = link.next('Page.loadEventFired');
      await send('Runtime.evaluate', { expression: `document.querySelector(${JSON.stringify(selector)}).click()` });
      await loaded;
    },
    async value<T>(expression: string) {
      const asked = { expression, awaitPromise: true, returnByValue: true };
      const { result, exceptionDetails } = await send<{ result: { value: T }; exceptionDetails?: object }>(
        'Runtime.evaluate',
        asked,
      );
      if (exceptionDetails) throw new Error(JSON.stringify(exceptionDetails));
      return result.value;
    },
    async press(key) {
      const event = { key, code: key, windowsVirtualKeyCode: keyCodes[key], ...(key === 'Enter' && { text: '\r' }) };
      await send('Input.dispatchKeyEvent', { type: 'keyDown', ...event });
      await send('Input.dispatchKeyEvent', { type: 'keyUp', ...event });
    },
    async close() {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
      await rm(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** Messages to and from the browser: JSON, each ended by a NUL. */
function linkTo(child: ChildProcess) {
  const out = child.stdio[3] as Writable;
  const waiting = new Map<number, { done: (value: never) => void; failed: (error: Error) => void }>();
  const listeners = new Map<string, ((params: Record<string, unknown>) => void)[]>();
  let rest = '';
  let last = 0;
  (child.stdio[4] as Readable).setEncoding('utf8').on('data', (text: string) => {
    const pieces = (rest + text).split('\0');
    rest = pieces.pop()!;
    for (const piece of pieces) take(JSON.parse(piece) as Message);
  });
  child.on('exit', (code) => {
    for (const { failed } of waiting.values()) failed(new Error(`the browser ended with ${code}`));
  });
  out.on('error', () => {}); // `exit` reports its end

  function take({ id, method, params = {}, result, error }: Message): void {
    if (method !== undefined) for (const listener of listeners.get(method) ?? []) listener(params);
    if (id === undefined) return;
    const answer = waiting.get(id);
    waiting.delete(id);
    if (error) answer?.failed(new Error(error.message));
    else answer?.done(result as never);
  }

  const on = (method: string, listener: (params: Record<string, unknown>) => void): void => {
    listeners.set(method, [...(listeners.get(method) ?? []), listener]);
  };
  return {
    on,
    next: (method: string): Promise<void> => new Promise((done) => on(method, () => done())),
    send: <T>(method: string, params: object = {}, sessionId?: string): Promise<T> =>
      new Promise<T>((done, failed) => {
        last += 1;
        waiting.set(last, { done, failed });
        out.write(`${JSON.stringify({ id: last, method, params, ...(sessionId && { sessionId }) })}\0`);
      }),
  };
}

/** What axe-core finds on the page, with the element of each. */
export async function axeFindings(page: BrowserPage): Promise<string[]> {
  const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  await page.value(`${axe};0`);
  const violations = await page.value<{ id: string; nodes: { html: string }[] }[]>(
    'axe.run(document).then(({ violations }) => violations)',
  );
  return violations.map(({ id, nodes }) => `${id}: ${nodes[0]!.html}`);
}
