// The checks of a whole store and of the time zone data of Node.
import { expect, it } from 'vitest';
import { checkEverything, checkInstallation } from '../../src/upkeep/check-installation.ts';
import { config } from '../server/kit.ts';
import { useStore } from '../support/store.ts';

const store = useStore();
const hostAt = (now: number) => {
  const settings = { ...config, store: store.address, logDir: '/nowhere', readyDiskMiB: 0 };
  return { config: () => settings as never, env: {}, zone: 'UTC', now: () => now };
};

it('names incomplete erasures and copies, and does not report zero people behind', async () => {
  const unfinished = async () => [{ user_id: 'a', stage: 'erasing' as const }];
  const found = await checkEverything(hostAt(1_700_000_000), { ...store, unfinished });
  const people = { name: 'people', ok: false, text: '1 erasure or copy did not end', next: 'mobility status' };
  expect(found.filter(({ name }) => name === 'people')).toEqual([people]);
});

it('reports old time zone data half a year after their year, with the remedy, and not as a fault', async () => {
  const year = Number.parseInt(process.versions.tz ?? '', 10);
  const zonesAt = async (date: string): Promise<string> => {
    const found = await checkInstallation(hostAt(Date.parse(`${year + 1}-${date}T00:00:00Z`) / 1000), store);
    const { ok, text, next } = found.find(({ name }) => name === 'zones')!;
    return `${ok} ${text} ${next}`;
  };
  expect(await zonesAt('06-20')).not.toContain('old');
  expect(await zonesAt('07-10')).toMatch(/^true .*are old.*newer Node.*rebuild --all --zone/);
});
