import { type BlockList, isIP } from 'node:net';
import { expandIPv6 } from 'hono/utils/ipaddr';
import { privateNetworks } from '../model/networks.ts';

const isIn = (networks: BlockList, address: string): boolean =>
  networks.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6');

/**
 * The returned function names the network of a caller; null if their address is private or invalid.
 * Behind a trusted `peer`, the caller has the last address in `X-Forwarded-For` that is not trusted.
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

/** Returns the /24 of an IPv4 or the /48 of an IPv6 address: the sizes that providers often assign. */
function networkOf(address: string): string {
  if (isIP(address) === 4) return `${address.slice(0, address.lastIndexOf('.'))}.0/24`;
  const groups = expandIPv6(address.toLowerCase()).split(':').slice(0, 3);
  return `${groups.map((group) => group.replace(/^0+(?=.)/, '')).join(':')}::/48`;
}
