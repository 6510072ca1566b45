// Finds the network of a caller, also behind a proxy that the operator trusts.
import { type BlockList, isIP } from 'node:net';
import { privateNetworks } from '../model/networks.ts';

const isIn = (networks: BlockList, address: string): boolean =>
  networks.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6');

/**
 * Returns a function that names the network of a caller. It uses the address of the connection or, if that is a trusted
 * proxy, the address that the proxy appended to `X-Forwarded-For`. null: the address is private or invalid.
 */
export function originFinder(trusted: BlockList) {
  return function originOf(peer: string | undefined, forwarded = ''): string | null {
    const hops = forwarded.split(',').map((hop) => hop.trim());
    let address: string | undefined = peer;
    while (address !== undefined && isIP(address) !== 0 && isIn(trusted, address)) address = hops.pop();
    if (address === undefined || isIP(address) === 0 || isIn(privateNetworks, address)) return null;
    return networkOf(address.replace(/^::ffff:(?=\d+\.)/i, ''));
  };
}

/** The network of one customer: the first 24 bits of an IPv4 address, 48 of an IPv6 address. */
function networkOf(address: string): string {
  if (isIP(address) === 4) return `${address.slice(0, address.lastIndexOf('.'))}.0/24`;
  const [head = '', tail] = address
    .toLowerCase()
    .split('::')
    .map((half) => (half === '' ? [] : half.split(':')));
  const zeros = tail === undefined ? 0 : 8 - head.length - tail.length;
  const groups = [...head, ...new Array<string>(Math.max(0, zeros)).fill('0'), ...(tail ?? [])];
  return `${groups
    .slice(0, 3)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':')}::/48`;
}
