import { BlockList, isIP } from 'node:net';

/** Parses `127.0.0.1, 10.0.0.0/8`. Throws a `TypeError` that says what was expected. */
export function networksOf(text: string): BlockList {
  const networks = new BlockList();
  for (const part of text.split(',').map((one) => one.trim())) {
    if (part === '') continue;
    const [, address = '', length] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(part) ?? [];
    const bits = { 0: -1, 4: 32, 6: 128 }[isIP(address)]!;
    if (bits < 0 || Number(length ?? bits) > bits)
      throw new TypeError('addresses or networks, such as 127.0.0.1,10.0.0.0/8');
    networks.addSubnet(address, Number(length ?? bits), bits === 32 ? 'ipv4' : 'ipv6');
  }
  return networks;
}

/** This machine and private networks, whose addresses callers from outside cannot have. */
export const privateNetworks = networksOf(
  '127.0.0.0/8,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,169.254.0.0/16,::1,fc00::/7,fe80::/10',
);

export function isLoopback(host: string): boolean {
  return /^(?:localhost|::1|127(?:\.\d{1,3}){3})$/i.test(host);
}
