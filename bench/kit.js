// Functions that several benchmarks use: folders, servers, output, and the floor, which is the minimal work of a put.
import { spawn } from 'node:child_process';
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const own = fileURLToPath(new URL('..', import.meta.url));
const programOf = (root) => join(root, 'bin', 'mobility.js');
const program = programOf(own);

/** Calls `work` with a new folder, and removes the folder afterwards. */
export async function inFolder(work) {
  const folder = mkdtempSync(join(tmpdir(), 'mobility-bench-'));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export const seconds = () => performance.now() / 1000;

/** Quantile `q` (0 to 1) of the values. */
export function quantile(values, q) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))];
}

export const median = (values) => quantile(values, 0.5);

/** Prints a result: its name, the figure, and the target if there is one. */
export function line(what, figure, target = '') {
  console.log(`  ${what.padEnd(58)} ${figure.padStart(18)}  ${target}`);
}

/** `within` or `MISSED`, with the target. Smaller figures are better. */
export function against(value, limit, text) {
  return `${value <= limit ? 'within' : 'MISSED:'} ${text}`;
}

export const ms = (s) => `${(s * 1000).toFixed(s < 0.01 ? 2 : 0)} ms`;
export const thousands = (n) => `${(n / 1000).toFixed(1)}k`;

// ---------------------------------------------------------------- entries

/** `count` locations as an Android phone pushes them, written one second after the other from `from` on. */
export function locations(count, from) {
  return Array.from({ length: count }, (_, i) => {
    const ts = from + i;
    return {
      metadata: {
        key: i % 2 ? 'background/location' : 'background/filtered_location',
        type: 'sensor-data',
        platform: 'android',
        write_ts: ts + 0.412,
        read_ts: 0,
        time_zone: 'Europe/Berlin',
      },
      data: {
        latitude: 48.52 + (i % 1000) * 1e-5,
        longitude: 9.05 + (i % 777) * 1e-5,
        altitude: 352.1,
        accuracy: 12.5,
        bearing: 88.5,
        sensed_speed: 1.4,
        ts,
        fmt_time: 'Mar 11, 2024 9:19:59 AM',
        elapsedRealtimeNanos: 812345678901234 + i * 1e9,
        filter: 'time',
      },
    };
  });
}

export const bodyOf = (user, entries) => Buffer.from(JSON.stringify({ user, phone_to_server: entries }));

// ---------------------------------------------------------------- the floor

/** A file to which bodies are appended. */
export function openFloor(folder) {
  const file = openSync(join(folder, 'floor'), 'a');
  return {
    /** Returns s for JSON.parse of the body, append and fsync: the minimal work of a durable put. */
    measure(body) {
      const began = seconds();
      JSON.parse(body.toString());
      writeSync(file, body);
      fsyncSync(file);
      return seconds() - began;
    },
    close: () => closeSync(file),
  };
}

// ---------------------------------------------------------------- processes

/** Settings without limits per day: in most benchmarks one caller sends the entries of many days. */
const noLimits = { MOBILITY_MIB_PER_DAY: '0', MOBILITY_WAITING_ENTRIES: '0' };

/**
 * Starts `mobility serve`, of the build in the folder `root` or this one, and waits until it listens. It has no
 * limits a day, unless `limits` asks for those of the shipped settings. Of all its processes: `peak()`, the peak RSS in
 * MiB; `cpu()`, the seconds of CPU so far.
 */
export async function startServer(store, { workers = 1, env = {}, root = own, limits = false } = {}) {
  const settings = { MOBILITY_AUTH: 'dev', MOBILITY_WORKERS: String(workers), MOBILITY_PORT: '0' };
  if (!limits) Object.assign(settings, noLimits);
  const child = spawn(process.execPath, [programOf(root), 'serve', '--store', store], {
    env: { ...process.env, ...settings, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let text = '';
  const port = await new Promise((resolve, reject) => {
    child.stderr.on('data', (chunk) => {
      text += chunk;
      const found = /listens on http:\/\/[^:]+:(\d+)/.exec(text);
      if (found) resolve(Number(found[1]));
    });
    child.once('exit', () => reject(new Error(`the server ended: ${text}`)));
  });
  return {
    port,
    peak: () => peaksOf(child.pid),
    cpu: () => cpuOf(child.pid),
    stderr: () => text,
    stop: () =>
      new Promise((resolve) => {
        child.removeAllListeners('exit');
        child.once('exit', resolve);
        child.kill('SIGTERM');
      }),
  };
}

/** Runs a command line; resolves with its wall time and, on Linux, its peak RSS in MiB. */
export async function run(args) {
  const began = seconds();
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  let stdout = '';
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  let peak = Number.NaN;
  const watch = setInterval(() => {
    peak = Math.max(...peaksOf(child.pid), Number.isNaN(peak) ? 0 : peak);
  }, 50);
  const code = await new Promise((resolve) => child.once('close', resolve));
  clearInterval(watch);
  if (code !== 0) throw new Error(`mobility ${args.join(' ')} ended with ${code}: ${stdout}`);
  return { seconds: seconds() - began, peak, stdout };
}

/** Peak RSS of a process and its children, MiB each; empty where there is no /proc. */
function peaksOf(pid) {
  if (!existsSync(`/proc/${pid}/status`)) return [];
  const own = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) => {
    const path = `/proc/${pid}/task/${task}/children`;
    return existsSync(path) ? readFileSync(path, 'utf8').trim().split(' ').filter(Boolean) : [];
  });
  return [...(own ? [Number(own[1]) / 1024] : []), ...children.flatMap((child) => peaksOf(Number(child)))];
}

/** Seconds of CPU, user and system, of a process and its children; NaN where there is no /proc. */
function cpuOf(pid) {
  if (!existsSync(`/proc/${pid}/stat`)) return Number.NaN;
  // After the name, which may hold anything: user and system time are the 12th and 13th field, in ticks of 10 ms.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) => {
    const path = `/proc/${pid}/task/${task}/children`;
    return existsSync(path) ? readFileSync(path, 'utf8').trim().split(' ').filter(Boolean) : [];
  });
  return children.reduce((sum, child) => sum + cpuOf(child), (Number(fields[11]) + Number(fields[12])) / 100);
}

// ---------------------------------------------------------------- HTTP

/** Posts bytes over connections that stay open. Rejects unless the answer is 200. */
export function createClient(port, connections = 8) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const send = (method, path, body) =>
    new Promise((resolve, reject) => {
      const headers = body ? { 'Content-Type': 'application/json; charset=UTF-8', 'Content-Length': body.length } : {};
      const call = request({ port, host: '127.0.0.1', path, method, agent, headers }, (response) => {
        const chunks = [];
        response.on('data', (chunk) => chunks.push(chunk));
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          if (response.statusCode === 200) resolve(text);
          else reject(new Error(`${path} answered ${response.statusCode}: ${text}`));
        });
      });
      call.on('error', reject);
      call.end(body);
    });
  return {
    post: (path, body) => send('POST', path, body),
    get: (path) => send('GET', path),
    close: () => agent.destroy(),
  };
}

/** Calls `work(i)` `count` times, `lanes` at the same time. Resolves with the seconds of each. */
export async function inLanes(count, lanes, work) {
  const times = [];
  let next = 0;
  const lane = async () => {
    while (next < count) {
      const i = next++;
      const began = seconds();
      await work(i);
      times.push(seconds() - began);
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return times;
}

/**
 * Puts of 50 new entries, one after the other, from half a second before `work` begins until it ends. `times`: seconds
 * of each put while it ran; `result`: what `work` resolved with.
 */
export async function putsBeside(port, user, work) {
  const client = createClient(port, 1);
  const times = [];
  let [made, isRunning] = [0, true];
  const put = async () => {
    const body = bodyOf(user, locations(50, 1_700_000_000 + 50 * made++));
    const began = seconds();
    await client.post('/usercache/put', body);
    times.push(seconds() - began);
    await setTimeout(5); // otherwise the caller uses a whole core
  };
  for (const end = seconds() + 0.5; seconds() < end; ) await put(); // warms up
  times.length = 0;
  const working = work().finally(() => {
    isRunning = false;
  });
  while (isRunning) await put();
  client.close();
  return { times, result: await working };
}
