// The driver of SQLite with a look at every statement: to fail it, to copy the files before it, or to list it.
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import type * as driver from '../../../src/store/sqlite/driver.ts';
import { tempFolder } from '../../support/clean-up.ts';

type Connection = driver.Connection;

const nothing = (): void => {};

/** What every test file that mocks the driver shares with it. */
export const watched = {
  /** Called before each statement that any connection runs; what it throws the statement throws. */
  before: nothing as (sql: string) => void,
  /** Called with each statement that a connection prepares. */
  prepared: nothing as (sql: string, connection: Connection) => void,
  /** The connections that were opened, in order. */
  connections: [] as Connection[],
  /** Until the next test. */
  reset(): void {
    watched.before = nothing;
    watched.prepared = nothing;
    watched.connections.length = 0;
  },
};

/** Does the work, and copies the folder before each of its statements, as a kill would leave it. */
export async function copiesDuring(folder: string, work: () => Promise<unknown>): Promise<string[]> {
  const base = tempFolder();
  const copies: string[] = [];
  watched.before = () => {
    copies.push(join(base, String(copies.length)));
    cpSync(folder, copies.at(-1)!, { recursive: true });
  };
  await work();
  watched.reset();
  return copies;
}

/** An error as SQLite gives it. */
export function engineError(errcode: number): Error {
  return Object.assign(new Error(`made up (${errcode})`), { code: 'ERR_SQLITE_ERROR', errcode });
}

/** For `vi.mock('…/driver.ts', async (original) => watchedDriver(await original()))`, imported in the factory. */
export function watchedDriver(actual: typeof driver): typeof driver {
  const connect = (path: string): Connection => {
    const connection = actual.connect(path);
    watched.connections.push(connection);
    const watch = <Args extends unknown[], Result>(sql: string, run: (...args: Args) => Result) => {
      return (...args: Args): Result => {
        watched.before(sql);
        return run(...args);
      };
    };
    return {
      ...connection,
      get inTransaction() {
        return connection.inTransaction;
      },
      exec: (sql) => watch(sql, connection.exec)(sql),
      prepare: (sql) => {
        watched.prepared(sql, connection);
        const statement = connection.prepare(sql);
        const watchMethod = (name: 'run' | 'get' | 'all') => watch(sql, statement[name].bind(statement));
        const [run, get, all] = (['run', 'get', 'all'] as const).map(watchMethod);
        return { run, get, all, setReturnArrays: (isOn) => statement.setReturnArrays(isOn) } as driver.Statement;
      },
    };
  };
  return { ...actual, connect };
}
