import { createSecureContext } from "node:tls";
import { errorCode } from "palimpsest/internal/store/files/disk";
import { localUser, type User } from "./users.ts";

/** The part of a `GatewayConfig` that is checked. */
interface CheckedConfig {
  readonly upstream: { readonly anthropic?: string | undefined; readonly openai?: string | undefined };
  readonly host: string;
  readonly port: number;
  readonly names: readonly string[];
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
  readonly insecure: boolean;
  readonly users: readonly User[];
}

/** Why a gateway must not run with this config, or undefined. At a reload, pass the config that would result from it. */
export function findProblem(config: CheckedConfig): string | undefined {
  const { upstream, host, tls, insecure, users } = config;
  if (upstream.anthropic === undefined && upstream.openai === undefined) return "no upstream is set";
  const own = Object.values(upstream).find((url) => url !== undefined && isGatewayAddress(config, url));
  if (own !== undefined) return `the upstream ${own} is the gateway's own address`;
  const names = users.map(({ name }) => name);
  const double = names.find((name, at) => names.indexOf(name) !== at);
  if (double !== undefined) return `two users are called ${double}`;
  if (names.includes(localUser)) return `${localUser} is reserved for the user of this machine: choose another name`;
  if (new Set(users.map(({ keySha256 }) => keySha256)).size !== users.length) return "two users have the same key";
  const tlsProblem = tls === undefined ? undefined : findTlsProblem(tls);
  if (tlsProblem !== undefined) return tlsProblem;
  if (isLoopback(host)) return undefined;
  if (tls === undefined && !insecure)
    return `${host} can be reached from other machines: set tls (cert, key), or pass --insecure if a proxy in front of the gateway terminates TLS`;
  return users.length === 0
    ? `${host} can be reached from other machines: list users with keys (\`palimpsest gateway key\` makes one)`
    : undefined;
}

/** Whether a base URL leads to the gateway with this config, and so can't be its upstream. */
export function isGatewayAddress(
  { host, port, names }: Pick<CheckedConfig, "host" | "port" | "names">,
  baseUrl: string,
): boolean {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (url === undefined || port !== Number(url.port || (url.protocol === "https:" ? 443 : 80))) return false;
  const name = url.hostname.replaceAll(/[[\]]/g, "");
  const isEverywhere = host === "0.0.0.0" || host === "::";
  return name === host || names.includes(name) || (isLoopback(name) && (isLoopback(host) || isEverywhere));
}

/** A certificate that is being renewed may not fit its key yet. */
function findTlsProblem(tls: NonNullable<CheckedConfig["tls"]>): string | undefined {
  try {
    createSecureContext(tls);
    return undefined;
  } catch (error) {
    return `tls: the certificate and its key can't be used (${errorCode(error) ?? "unknown"})`;
  }
}

const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "::1" || /^127(?:\.\d{1,3}){3}$/.test(host);
