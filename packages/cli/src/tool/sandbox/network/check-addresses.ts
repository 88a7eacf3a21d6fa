import type { LookupAddress } from "node:dns";
import { BlockList, isIP } from "node:net";
import { parseHost } from "../../permission/rule.ts";

/** The addresses of a name, resolved once. The connection uses exactly these: the name is not resolved again. */
type AddressCheck =
  | { readonly kind: "open"; readonly addresses: readonly LookupAddress[] }
  /** `why`: one line for the model. */
  | { readonly kind: "refused"; readonly why: string };

interface AddressRules {
  /** Whether an address is public. */
  readonly mayConnect: (address: string) => boolean;
  /** Whether an allow rule names this address itself, or `localhost` for it. */
  readonly isNamed: (host: string) => boolean;
}

/**
 * The owner of a name decides where it leads. So allowing a name does not allow private addresses: a rule has to name
 * the address. Addresses at which clouds hand out keys are never allowed. One refused address refuses the name.
 */
export function checkAddresses(
  { host, addresses }: { readonly host: string; readonly addresses: readonly LookupAddress[] },
  { mayConnect, isNamed }: AddressRules,
): AddressCheck {
  if (addresses.length === 0) return { kind: "refused", why: `there is no host called ${host}` };
  for (const { address } of addresses) {
    const leads = bareHost(host) === address ? `${host} is` : `${host} leads to ${address}, which is`;
    if (isNeverOpen(address)) return { kind: "refused", why: `${leads} an address that is never opened` };
    const isAllowedByName = isNamed(toHost(address)) || (isLocalName(host) && isLoopback(address) && isNamed(host));
    if (!mayConnect(address) && !isAllowedByName)
      return {
        kind: "refused",
        why: `${leads} not on the open net; an allow rule would have to name it: WebFetch(domain:${toHost(address)})`,
      };
  }
  return { kind: "open", addresses };
}

/** Names of this machine itself (RFC 6761): as private as its address. */
export const isLocalName = (host: string): boolean => /(?:^|\.)localhost$/.test(host);

/** `[::1]` → `::1`. */
export const bareHost = (host: string): string => host.replace(/^\[(.*)\]$/, "$1");

export const isAddress = (host: string): boolean => isIP(bareHost(host)) !== 0;

/** As written in URLs, and so in rules. */
const toHost = (address: string): string =>
  isIP(address) === 6 ? (parseHost(`http://[${address}]`) ?? `[${address}]`) : address;

function isNeverOpen(address: string): boolean {
  const [withoutZone = ""] = address.split("%");
  const family = isIP(withoutZone);
  return family === 0 || neverOpen.check(withoutZone, family === 6 ? "ipv6" : "ipv4");
}

const isLoopback = (address: string): boolean =>
  isIP(address) !== 0 && loopback.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

/**
 * Link-local addresses, multicast, "any address", and the metadata services of clouds, which hand out the machine's
 * keys.
 */
const neverOpen = new BlockList();
neverOpen.addSubnet("0.0.0.0", 8, "ipv4");
neverOpen.addSubnet("169.254.0.0", 16, "ipv4");
neverOpen.addSubnet("224.0.0.0", 3, "ipv4");
neverOpen.addAddress("100.100.100.200", "ipv4");
neverOpen.addAddress("168.63.129.16", "ipv4");
neverOpen.addAddress("192.0.0.192", "ipv4");
neverOpen.addAddress("::", "ipv6");
neverOpen.addSubnet("fe80::", 10, "ipv6");
neverOpen.addSubnet("ff00::", 8, "ipv6");
neverOpen.addSubnet("fd00:ec2::", 32, "ipv6");
neverOpen.addAddress("fd20:ce::254", "ipv6");
neverOpen.addAddress("fd00:c1::a9fe:a9fe", "ipv6");
neverOpen.addAddress("fd00:42::42", "ipv6");
neverOpen.addAddress("fd00:a9fe:a9fe::1", "ipv6");
neverOpen.addAddress("fd00:100::100:200", "ipv6");
