import { BlockList, isIP } from "node:net";

/**
 * Whether an address is one of the open net. Not: this machine, its neighbours, link-local ones (where clouds hand out keys),
 * shared and reserved ranges, groups, and forms of IPv6 that carry an IPv4 address to wherever it leads.
 */
export function isPublicAddress(address: string): boolean {
  const [bare = ""] = address.split("%");
  switch (isIP(bare)) {
    case 4:
      return !closed.check(bare, "ipv4");
    case 6:
      return open6.check(bare, "ipv6") && !closed.check(bare, "ipv6");
    default:
      return false;
  }
}

const ranges4: readonly (readonly [string, number])[] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  // A cloud's own, at which machines are given keys.
  ["168.63.129.16", 32],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
];

/** Within what is given out at all. */
const ranges6: readonly (readonly [string, number])[] = [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
];

/** All of IPv6 that is given out to the open net. */
const open6 = new BlockList();
open6.addSubnet("2000::", 3, "ipv6");

const closed = new BlockList();
for (const [net, prefix] of ranges4) closed.addSubnet(net, prefix, "ipv4");
for (const [net, prefix] of ranges6) closed.addSubnet(net, prefix, "ipv6");
