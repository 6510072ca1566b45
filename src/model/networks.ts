// Lists of IP addresses and networks, as settings name them.
import { BlockList, isIP } from 'node:net';

/** The networks of a text such as `127.0.0.1, 10.0.0.0/8`. Throws a `TypeError` that says what was expected. */
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
