// What a MongoDB address says: the database, and the address as it may be shown to people.

/** The database of an address that names none. */
export const defaultDatabase = 'mobility';

/** The database that the address names after its hosts; `mobility` when it names none. */
export function databaseOf(address: string): string {
  const [, path] = /^mongodb(?:\+srv)?:\/\/[^/?]*\/([^?]*)/.exec(address) ?? [];
  return path ? decodeURIComponent(path) : defaultDatabase;
}

const secretParameters = /^(tlsCertificateKeyFilePassword|authMechanismProperties|proxyUsername|proxyPassword)=/i;

/** The address without user, password and parameters that hold secrets. */
export function withoutCredentials(address: string): string {
  // A password that was not percent-encoded may hold `/`, `?` or `@`: everything up to the last `@` before a parameter goes.
  const [, scheme = '', rest = ''] = /^(mongodb(?:\+srv)?:\/\/)(.*)$/s.exec(address) ?? [];
  const question = rest.indexOf('?', rest.lastIndexOf('@') + 1);
  const place = question < 0 ? rest : rest.slice(0, question);
  const parameters = question < 0 ? [] : rest.slice(question + 1).split('&');
  const shown = parameters.filter((parameter) => !secretParameters.test(parameter));
  return `${scheme}${place.slice(place.lastIndexOf('@') + 1)}${shown.length > 0 ? `?${shown.join('&')}` : ''}`;
}
