// An erasure that was killed anywhere, or that could not read a log file: the same command finishes it.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createStamp, fileLine } from '../../src/log/line-format.ts';
import { line } from '../../src/log/messages.ts';
import { freshProgram, run } from '../cli/kit.ts';
import { androidLocation } from '../server/kit.ts';
import { copiesDuring, watched } from '../store/support/watched-driver.ts';
import { sampled } from '../support/sample.ts';
import { textsIn } from '../support/traces.ts';

vi.mock('../../src/store/sqlite/driver.ts', async (original) =>
  (await import('../store/support/watched-driver.ts')).watchedDriver(await original()),
);
afterEach(() => watched.reset());

const people = ['ada@example.org', 'ben@example.org'];
const archive = 'server-2026-03-13.log.gz';

/** Two members of a study, with an entry each, whom a plain and a compressed log file name; a file with their names. */
async function filled() {
  const program = await freshProgram();
  await program.run(['study', 'create', 'sunny']);
  const lines = await program.withStore(async (store) => {
    const found: string[] = [];
    for (const email of people) {
      const { uuid } = (await store.users.register(email, { now: 1, study: 'sunny' })).user;
      await store.usercache.put(uuid, { entries: [androidLocation(1)] as never, unusable: [] }, 5);
      found.push(line.foundEmail(email), line.endCall('POST', '/usercache/put', uuid, 1), `of ${uuid} and ${email}`);
    }
    return found;
  });
  const logs = join(program.address, 'logs');
  await program.run(['pipeline', '--all']);
  const text = lines.map((one) => `${fileLine(createStamp('UTC')(0), 'INFO', 'w1', one)}\n`).join('');
  writeFileSync(join(logs, 'server-2026-03-14.log'), text);
  writeFileSync(join(logs, archive), gzipSync(text));
  writeFileSync(join(program.folder, 'names.txt'), people.join('\n'));
  return { ...program, logs, names: join(program.folder, 'names.txt') };
}

describe('an erasure', () => {
  it.each(sampled(['--study', '--user', '--file'], 1))(
    'by %s that is killed before any statement is finished by its repetition',
    async (way) => {
      const { address, names } = await filled();
      const whom = { '--user': people.flatMap((name) => ['--user', name]), '--file': ['--file', names] }[way];
      const command = ['erase', ...(whom ?? ['--study', 'sunny']), '--yes'];
      const copies = await copiesDuring(address, () => run(command, { env: { MOBILITY_STORE: address } }));
      expect(copies.length).toBeGreaterThan(40);
      const isLooked = (i: number): boolean => i % 7 === 0 || i > copies.length - 20;
      const looked = sampled(
        copies.filter((_, i) => isLooked(i)),
        20,
      );
      for (const copy of [...looked, address]) {
        const { code, stderr, stdout } = await run(command, { env: { MOBILITY_STORE: copy } });
        expect([code, copy], stderr).toEqual([0, copy]);
        if (copy === address)
          expect(stdout).toMatch(way === '--study' ? /REMOVED/ : /nothing left of ada@.*\n.*left of ben@/);
        expect(textsIn(copy, people)).toEqual([]);
      }
    },
  );

  it('of a UUID without a user removes it from the log files, and gives a receipt', async () => {
    const { run: again, logs } = await filled();
    const uuid = '6f1c0a52-0f4e-4d0e-9a57-6f3b6f0d9a11';
    writeFileSync(join(logs, archive), gzipSync(`${fileLine('2026', 'INFO', 'w1', line.userUuid(uuid))}\n`));
    const { code, json } = await again(['erase', '--user', uuid.toUpperCase(), '--yes', '--json']);
    expect(code).toBe(0);
    expect(json()).toMatchObject({
      users: [{ user_id: uuid, removed: { users: 0 }, remaining: { users: 0 } }],
      logs: { lines: 1 },
    });
  });
});
