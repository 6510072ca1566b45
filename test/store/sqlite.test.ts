// The contract on the embedded store.
import { openStore } from '../../src/store/open.ts';
import { tempFolder } from '../support/clean-up.ts';
import { testStore } from './contract.ts';

testStore('sqlite', async () => {
  const folder = tempFolder();
  const store = await openStore(folder);
  return { store, reopen: () => openStore(folder), dispose: () => store.close() };
});
