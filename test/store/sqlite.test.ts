// The contract on the embedded store.
import { openStore } from '../../src/store/open.ts';
import { testStore } from './contract.ts';
import { newFolder, removeFolder } from './support/folders.ts';

testStore('sqlite', async () => {
  const folder = await newFolder();
  const store = await openStore(folder);
  return {
    store,
    reopen: () => openStore(folder),
    dispose: async () => {
      await store.close();
      await removeFolder(folder);
    },
  };
});
