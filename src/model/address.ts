export const isMongoAddress = (address: string): boolean => /^mongodb(\+srv)?:\/\//.test(address);

export const folderIn = (address: string): string => address.replace(/^sqlite:/, '');

export function databaseNameIn(address: string): string | null {
  const [, path] = /^mongodb(?:\+srv)?:\/\/[^/?]*\/([^?]*)/i.exec(address) ?? [];
  return path ? decodeURIComponent(path) : null;
}

const secretParameter = /^(proxyUsername$|authMechanismProperties$|[^=]*(password|token|secret))/i;

export function withoutCredentials(address: string): string {
  const [, scheme, rest] = /^([a-z][a-z0-9+.-]*:\/\/)(.*)$/is.exec(address) ?? [];
  if (scheme === undefined || rest === undefined) return address;
  // A password that is not percent-encoded may contain `/`, `?` or `@`.
  const question = rest.indexOf('?', rest.lastIndexOf('@') + 1);
  const place = question < 0 ? rest : rest.slice(0, question);
  const parameters = question < 0 ? [] : rest.slice(question + 1).split('&');
  const shown = parameters.filter((parameter) => !secretParameter.test(parameter.split('=')[0]!));
  return `${scheme}${place.slice(place.lastIndexOf('@') + 1)}${shown.length > 0 ? `?${shown.join('&')}` : ''}`;
}
