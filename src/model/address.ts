// Addresses of stores and databases: what they name, and their form for people.

/** True for a store in MongoDB; all others are folders. */
export const isMongoAddress = (address: string): boolean => /^mongodb(\+srv)?:\/\//.test(address);

/** The folder of an embedded store. */
export const folderIn = (address: string): string => address.replace(/^sqlite:/, '');

/** The database that a MongoDB address names after its hosts; null when it names none. */
export function databaseNameIn(address: string): string | null {
  const [, path] = /^mongodb(?:\+srv)?:\/\/[^/?]*\/([^?]*)/i.exec(address) ?? [];
  return path ? decodeURIComponent(path) : null;
}

const secretParameter = /^(proxyUsername$|authMechanismProperties$|[^=]*(password|token|secret))/i;

/** The address without user, password and parameters that hold secrets. A folder's path is returned as it is. */
export function withoutCredentials(address: string): string {
  const [, scheme, rest] = /^([a-z][a-z0-9+.-]*:\/\/)(.*)$/is.exec(address) ?? [];
  if (scheme === undefined || rest === undefined) return address;
  // A password that was not percent-encoded may hold `/`, `?` or `@`: everything up to the last `@` before a parameter
  // goes.
  const question = rest.indexOf('?', rest.lastIndexOf('@') + 1);
  const place = question < 0 ? rest : rest.slice(0, question);
  const parameters = question < 0 ? [] : rest.slice(question + 1).split('&');
  const shown = parameters.filter((parameter) => !secretParameter.test(parameter.split('=')[0]!));
  return `${scheme}${place.slice(place.lastIndexOf('@') + 1)}${shown.length > 0 ? `?${shown.join('&')}` : ''}`;
}
