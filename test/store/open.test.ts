// Which address opens which store.
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { isMobilityError } from '../../src/model/mobility-error.ts';
import { openStore } from '../../src/store/open.ts';
import { atEnd, tempFolder } from '../support/clean-up.ts';
import { newPerson } from './contract/kit.ts';

it.each(['sqlite:', ''])('%sFOLDER opens the embedded store', async (scheme) => {
  const folder = join(tempFolder(), 'da ta', 'ünïcode');
  const store = await openStore(`${scheme}${folder}`, { now: () => 5 });
  atEnd(() => store.close());
  expect(store.address).toBe(`sqlite:${folder}`);
  await store.ping();
  expect(await readdir(folder)).toContain('mobility.db');
  const result = await store.leases.acquire((await newPerson(store)).id, 'a', 10);
  expect(result).toMatchObject({ lease: { expires_ts: 15 } });
});

const sqlite = ['', 'sqlite:', 'sqlite://host/data', 'sqlite:http://host/data', './data\0more'];
const others = ['postgres://user:secret@host/data', 'http://host', 'mongodb:host', 'file:./data'];

it.each([...sqlite, ...others])('%j is refused with the forms that are expected', async (address) => {
  const error = await openStore(address).catch((reason) => reason);
  expect(isMobilityError(error, 'MOBILITY_STORE_ADDRESS')).toBe(true);
  expect(error.message).toMatch(/sqlite:FOLDER.*mongodb:\/\//);
  expect(error.message).not.toContain('secret');
});
