// What a MongoDB address says: the database, and the address as it may be shown to people.

/** The database of an address that names none. */
export const defaultDatabase = 'mobility';

/** The database that the address names after its hosts; `mobility` when it names none. */
export function databaseOf(address: string): string {
  const [, path] = /^mongodb(?:\+srv)?:\/\/[^/?]*\/([^?]*)/.exec(address) ?? [];
  return path ? decodeURIComponent(path) : defaultDatabase;
}

/** What is wrong with the name of a database as a place for a store; null: nothing. */
export function databaseFlaw(database: string): string | null {
  if (['admin', 'config', 'local'].includes(database)) {
    return `${database} belongs to the server and takes no transactions: name another, and say with authSource where users log in`;
  }
  return /[\s/\\."$*<>:|?\0]/.test(database) || Buffer.byteLength(database) > 63
    ? 'names of databases have at most 63 bytes, no blanks and none of / \\ . " $ * < > : | ?'
    : null;
}

const secretParameters = /^(tlsCertificateKeyFilePassword|authMechanismProperties|proxyUsername|proxyPassword)=/i;

/** The address without user, password and parameters that hold secrets. */
export function withoutCredentials(address: string): string {
  // A password that was not percent-encoded may hold `/`, `?` or `@`: everything up to the last `@` before a parameter
  // goes.
  const [, scheme = '', rest = ''] = /^(mongodb(?:\+srv)?:\/\/)(.*)$/s.exec(address) ?? [];
  const question = rest.indexOf('?', rest.lastIndexOf('@') + 1);
  const place = question < 0 ? rest : rest.slice(0, question);
  const parameters = question < 0 ? [] : rest.slice(question + 1).split('&');
  const shown = parameters.filter((parameter) => !secretParameters.test(parameter));
  return `${scheme}${place.slice(place.lastIndexOf('@') + 1)}${shown.length > 0 ? `?${shown.join('&')}` : ''}`;
}
