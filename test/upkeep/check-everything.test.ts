// The checks of a whole store.
import { expect, it } from 'vitest';
import { checkEverything } from '../../src/upkeep/check-installation.ts';
import { config } from '../server/kit.ts';
import { useStore } from '../support/store.ts';

const store = useStore();

it('names incomplete erasures and copies, and does not report zero people behind', async () => {
  const settings = { ...config, store: store.address, logDir: '/nowhere', readyDiskMiB: 0 };
  const host = { config: () => settings as never, env: {}, zone: 'UTC', now: () => 1_700_000_000 };
  const unfinished = async () => [{ user_id: 'a', stage: 'erasing' as const }];
  expect((await checkEverything(host, { ...store, unfinished })).find(({ name }) => name === 'people')).toEqual({
    name: 'people',
    ok: false,
    text: '1 erasure or copy did not end',
    next: 'mobility status',
  });
});
