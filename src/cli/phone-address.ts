import { usageError } from '../model/mobility-error.ts';

/**
 * The address of the server for phones, without a slash at its end. Throws `MOBILITY_USAGE` if it is missing or not an
 * HTTP address.
 */
export function phoneAddress(given: string | undefined, configured: string): string {
  const text = given ?? configured;
  if (text === '') {
    throw usageError(
      'expected the address of the server for phones, found none: give --server https://… or set MOBILITY_PUBLIC_URL',
    );
  }
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol) || url.search !== '' || url.hash !== '') {
    throw usageError(`expected an address such as https://mobility.example.org, found ${JSON.stringify(text)}`);
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}
