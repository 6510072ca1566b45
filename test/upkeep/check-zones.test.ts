// The check of the time zone data of Node.
import { expect, it } from 'vitest';
import { checkInstallation } from '../../src/upkeep/check-installation.ts';
import { config } from '../server/kit.ts';
import { useStore } from '../support/store.ts';

const store = useStore();
const year = Number.parseInt(process.versions.tz ?? '', 10);

async function zonesAt(date: string): Promise<string> {
  const now = () => Date.parse(date) / 1000;
  const settings = { ...config, store: store.address, logDir: '/nowhere', readyDiskMiB: 0 };
  const host = { config: () => settings as never, env: {}, zone: 'UTC', now };
  const { ok, text, next } = (await checkInstallation(host, store)).find(({ name }) => name === 'zones')!;
  return `${ok} ${text} ${next}`;
}

it('reports old time zone data half a year after their year, with the remedy, and not as a fault', async () => {
  expect(await zonesAt(`${year + 1}-06-20T00:00:00Z`)).not.toContain('old');
  expect(await zonesAt(`${year + 1}-07-10T00:00:00Z`)).toMatch(/^true .*are old.*newer Node.*rebuild --all --zone/);
});
