// The samples of examples/deploy: systemd checks units, proxies run before a server, containers are checked as text.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningServer, run, startServer } from '../faults/program.ts';
import { tempFolder } from '../support/clean-up.ts';
import { freePort } from '../support/free-port.ts';
import { isHere } from '../support/needs.ts';
import { until } from '../support/until.ts';

const pathOf = (name: string): string => fileURLToPath(new URL(`../../${name}`, import.meta.url));
const sample = (name: string): string => readFileSync(pathOf(`examples/deploy/${name}`), 'utf8');

const named = (ending: RegExp): string[] => readdirSync(pathOf('examples/deploy')).filter((name) => ending.test(name));
const units = named(/\.(service|timer)$/);

const hasSystemd = isHere('systemd-analyze', spawnSync('systemd-analyze', ['--version']).status === 0);
describe.skipIf(!hasSystemd)('the units', () => {
  it('are valid', async () => {
    expect(units).toHaveLength(4);
    const folder = tempFolder();
    // Only the path of the program differs on this machine.
    for (const name of units)
      await writeFile(join(folder, name), sample(name).replaceAll('/usr/local/bin/mobility', process.execPath));
    const { status, stderr } = spawnSync('systemd-analyze', ['verify', ...units], { cwd: folder, encoding: 'utf8' });
    expect([status, stderr]).toEqual([0, '']);
  });

  it.each(units.filter((name) => name.endsWith('.service')))('%s is confined: an exposure below 3 of 10', (name) => {
    const args = ['security', '--offline=true', pathOf(`examples/deploy/${name}`)];
    const { stdout } = spawnSync('systemd-analyze', args, { encoding: 'utf8' });
    expect(Number(/Overall exposure level for \S+: ([\d.]+)/.exec(stdout)?.[1])).toBeLessThan(3);
  });
});

/** The proxies: where the program of each is, and what runs its sample on other ports. */
const proxies = {
  'nginx.conf': {
    program: pathOf('.debian/usr/sbin/nginx'),
    /** Writes what it needs into a folder; returns the arguments of its program. */
    async prepare(folder: string, listen: number, server: string): Promise<string[]> {
      const [key, certificate] = [join(folder, 'privkey.pem'), join(folder, 'fullchain.pem')];
      const made = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=localhost', '-days', '1'];
      execFileSync('openssl', [...made, '-keyout', key, '-out', certificate], { stdio: 'ignore' });
      const site = sample('nginx.conf')
        .replace('listen 443 ssl', `listen 127.0.0.1:${listen} ssl`)
        .replace(/.*\[::\]:443.*\n/, '')
        .replaceAll('/etc/letsencrypt/live/mobility.example.org', folder)
        .replaceAll('/var/log/nginx', folder)
        .replaceAll('http://127.0.0.1:8080', server);
      const parts = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
      const paths = parts.map((part) => `${part}_temp_path ${join(folder, part)};`).join(' ');
      const user = process.getuid?.() === 0 ? 'user root;' : ''; // its folder is private
      const main = `${user} pid ${folder}/pid; daemon off; events {}\nhttp { access_log off; ${paths}\n${site}}`;
      await writeFile(join(folder, 'main.conf'), main);
      return ['-p', folder, '-e', join(folder, 'error.log'), '-c', join(folder, 'main.conf')];
    },
  },
  Caddyfile: {
    program: pathOf('.debian/usr/bin/caddy'),
    async prepare(folder: string, listen: number, server: string): Promise<string[]> {
      const options = '{\n\tadmin off\n\tskip_install_trust\n\tauto_https disable_redirects\n';
      const site = sample('Caddyfile')
        .replace(/^\{\n/m, options)
        .replace('mobility.example.org', `https://127.0.0.1:${listen}`)
        .replace('127.0.0.1:8080', server.replace('http://', ''))
        .replace('encode gzip', 'tls internal\n\tencode gzip');
      await writeFile(join(folder, 'Caddyfile'), site);
      return ['run', '--config', join(folder, 'Caddyfile')];
    },
  },
};

const large = Buffer.alloc(65 * 1024 * 1024, ' '); // a little more than the proxies and the server allow

// Skipped also where everything is required: Debian's archive may no longer have these versions.
const hasProxies = Object.values(proxies).every(({ program }) => existsSync(program));
describe.skipIf(!hasProxies)('a proxy (npm run test:proxies)', () => {
  describe.each(Object.entries(proxies))('%s', (_, { program, prepare }) => {
    let server: RunningServer;
    let home: string;
    let port: number;
    let stop: () => Promise<void>;

    function call(path: string, input: string | Buffer = '{"user":"nobody"}', ...more: string[]) {
      const curl = ['-sSik', '--max-time', '60', '--http1.1', '-H', 'Content-Type: application/json', ...more];
      const to = [...curl, '-H', 'Expect:', '--data-binary', '@-', `https://127.0.0.1:${port}${path}`];
      const { stdout } = spawnSync('curl', to, { input, encoding: 'utf8' });
      const [, head = '', body = ''] = /^(.*?)\r\n\r\n(.*)$/s.exec(stdout) ?? [];
      return { status: head.split(' ')[1] ?? '', head, body };
    }
    const look = (): void => {
      for (const path of ['/me/day/2024-03-12', '/me/month/2024-03', '/study/walks/p/k7m2qx31/2024-03-12'])
        call(path, '', '-X', 'GET');
    };

    beforeAll(async () => {
      [home, port] = [tempFolder(), await freePort()];
      server = await startServer(join(home, 'store'), { env: { MOBILITY_AUTH: 'token' } });
      const args = await prepare(home, port, server.url);
      const env = { ...process.env, HOME: home, XDG_DATA_HOME: home, XDG_CONFIG_HOME: home };
      const output = openSync(join(home, 'output'), 'w');
      const child = spawn(program, args, { stdio: ['ignore', output, output], env });
      closeSync(output);
      stop = async () => {
        if (child.exitCode === null && child.kill('SIGTERM')) await once(child, 'exit');
      };
      await until(() => call('/usercache/get').status !== '');
    });
    afterAll(() => Promise.all([stop(), server.stop()]));

    it('passes answers of the server on as they are', () => {
      const { status, head, body } = call('/usercache/get');
      expect([status, JSON.parse(body).status]).toEqual(['403', 403]);
      expect(head).toMatch(/content-type: application\/problem\+json/i);
      expect(head.match(/strict-transport-security: max-age=31536000\b/gi)).toHaveLength(1);
    });

    it('passes on a body of the size that a phone has after weeks', () => {
      const { status, body } = call('/usercache/put', Buffer.alloc(20_000_000, ' '));
      expect([status, JSON.parse(body).status]).toEqual(['403', 403]);
    });

    it.each(['/pub', '/overland', '/traccar'])('refuses a body that is too large on %s with 503', (path) => {
      for (const more of [[], ['-H', 'Transfer-Encoding: chunked']]) {
        const { status, head, body } = call(path, large, ...more);
        expect([status, body]).toEqual(['503', expect.stringMatching(/^\{"error":/)]);
        for (const header of [/retry-after: \d/i, /strict-transport-security: max-age=/i]) expect(head).toMatch(header);
      }
    });

    it('does not answer 4xx by itself while the server is down', async () => {
      look();
      await server.stop();
      expect(call('/pub').status).toMatch(/^5/);
    });

    it('logs no token, place or user name, whether the server is up or down', async () => {
      look();
      for (const path of ['/traccar', '/', '//overland/']) call(`${path}?id=my-secret&lat=38.57&lon=-7.9`);
      await stop(); // now its logs are written
      const files = readdirSync(home).filter((name) => /log$|^output$/.test(name));
      const logs = files.map((name) => readFileSync(join(home, name), 'utf8'));
      expect(files).toContain('output');
      for (const log of logs) expect(log).not.toMatch(/my-secret|38\.57|k7m2qx31|2024-03/);
    });
  });
});

describe('the Dockerfile', () => {
  const lines = sample('Dockerfile').replaceAll('\\\n', ' ').split('\n');
  it('ends with a user that is not root, a volume and a health check', () => {
    const store = /^ENV .*MOBILITY_STORE=sqlite:\/var\/lib\/mobility\//;
    const expected = [store, /^USER 1000:1000$/, /^VOLUME \/var\/lib\/mobility$/, /^HEALTHCHECK .*\/readyz/];
    const found = lines.filter((line) => /^(ENV|USER|VOLUME|HEALTHCHECK) /.test(line));
    expect(found).toEqual(expected.map((one) => expect.stringMatching(one)));
  });

  it('copies only files that exist', () => {
    const copied = lines.filter((line) => /^COPY (?!--from)/.test(line));
    const sources = copied.flatMap((line) => line.split(' ').slice(1, -1));
    expect(sources).toContain('package-lock.json');
    expect(sources.filter((name) => !existsSync(pathOf(name)))).toEqual([]);
  });
});

/** The command lines of the program in a sample, in words. */
function calls(text: string): string[][] {
  const lines = [...text.matchAll(/(?:ExecStart=|command: |CMD |exec server )(.*)/g)].map(([, line]) => line!);
  const words = lines.map((line) => line.replace(/["'[\],]/g, '').split(' '));
  return words.flatMap((line) => {
    const at = line.findIndex((word) => /(?:^|\/)mobility(?:\.js)?$/.test(word));
    return at < 0 ? [] : [line.slice(at + 1)];
  });
}

const samples = named(/^Dockerfile$|^compose.*\.yaml$|\.service$/);
it.each(samples)('%s names only commands, flags and settings that exist', async (name) => {
  const found = calls(sample(name));
  expect(found.length).toBeGreaterThan(0);
  for (const words of found) {
    const end = words.findIndex((word) => !/^[a-z]+$/.test(word));
    const command = words.slice(0, end < 0 ? undefined : end);
    const { code, stdout } = await run([...command, '--help']);
    expect([command, code]).toEqual([command, 0]);
    for (const flag of words.filter((word) => word.startsWith('--'))) expect(stdout).toContain(flag);
  }
  const documented = readFileSync(pathOf('docs/configuration.md'), 'utf8');
  for (const setting of sample(name).match(/MOBILITY_[A-Z_]+/g) ?? []) expect(documented).toContain(setting);
});
