// The database of a store on MongoDB: the usual name, and names that no store can have.

/** The database of an address that names none. */
export const defaultDatabase = 'mobility';

/** What is wrong with the name of a database as a place for a store; null: nothing. */
export function databaseFlaw(database: string): string | null {
  if (['admin', 'config', 'local'].includes(database)) {
    return `${database} belongs to the server and takes no transactions: name another, and say with authSource where users log in`;
  }
  return /[\s/\\."$*<>:|?\0]/.test(database) || Buffer.byteLength(database) > 63
    ? 'names of databases have at most 63 bytes, no blanks and none of / \\ . " $ * < > : | ?'
    : null;
}
