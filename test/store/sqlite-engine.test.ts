// The engine on SQLite: the contract of the engines.
import { connect } from '../../src/store/sqlite/driver.ts';
import { databaseIn } from '../../src/store/sqlite/folder.ts';
import { openSqliteEngine } from '../../src/store/sqlite/sqlite-engine.ts';
import { tempFolder } from '../support/clean-up.ts';
import { engineContract } from './engine-contract.ts';

engineContract('SQLite', async () => {
  const folder = tempFolder();
  const engine = await openSqliteEngine(folder);
  return {
    engine,
    reopen: () => openSqliteEngine(folder),
    async damage(table, column, value) {
      const connection = connect(databaseIn(folder));
      connection.prepare(`UPDATE ${table} SET ${column} = ?`).run(value);
      connection.close();
    },
    dispose: () => engine.close(),
  };
});
