import { oneLine } from "palimpsest/internal/text/to-printable";
import { raceAbort } from "palimpsest/internal/schema/race-abort";
import type { LookupAddress } from "node:dns";
import { lookup } from "node:dns/promises";
import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps, type RequestOptions as RequestOptionsHttps } from "node:https";
import { networkInterfaces } from "node:os";
import { pipeline, type Readable } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { errorCode } from "../error-code.ts";
import { webBytesMax, webRedirectsMax, webTimeoutMs, pageKeptMs, pagesCharsMax, pagesMax } from "./limits.ts";
import { BlockList, isIP } from "node:net";
import type { Millis } from "palimpsest/internal/schema/brand";

/** How the network is reached. */
export interface Net {
  readonly resolve: (host: string) => Promise<readonly LookupAddress[]>;
  /** Asked about every address that a host's name resolves to, before anything is sent. */
  readonly mayConnect: (address: string) => boolean;
  /** A certificate authority to trust besides the system's. */
  readonly ca?: string;
}

/** The system's resolver, without this machine and its local network. `ownAddresses`: the addresses of this machine. */
export const createNet = (ownAddresses: () => readonly string[]): Net => ({
  resolve: (host) => lookup(host, { all: true }),
  // A service meant for this machine alone often listens on all of its addresses.
  mayConnect: (address) => isPublicAddress(address) && !ownAddresses().includes(address),
});

export const openNet: Net = createNet(() =>
  Object.values(networkInterfaces()).flatMap((known = []) => known.map(({ address }) => address)),
);

export type GetOutcome =
  | PageBody
  /** The redirect leads where it is not followed: for a page to another host, or from HTTPS to HTTP. */
  | { readonly kind: "moved"; readonly to: string }
  /** `why`: one line for the model. */
  | { readonly kind: "failed"; readonly why: string };

interface PageBody {
  readonly kind: "body";
  readonly url: string;
  readonly contentType: string;
  readonly bytes: Uint8Array;
  /** What the host knows this version by. */
  readonly version: PageVersion;
}

export interface PageVersion {
  readonly etag?: string | undefined;
  readonly lastModified?: string | undefined;
}

interface GetInput {
  readonly url: URL;
  readonly signal: AbortSignal;
}

interface GetLimits {
  readonly bytesMax: number;
  /** For the name lookup, all redirects and the whole body together. */
  readonly timeoutMs: number;
  readonly redirectsMax: number;
  /** Whether a redirect from one address to another is followed. */
  readonly mayFollow: (from: URL, to: URL) => boolean;
}

interface LimitedGetInput extends GetInput {
  readonly limits: GetLimits;
  /** The version that the caller has: the host need not send it again. */
  readonly known?: PageVersion | undefined;
}

type LimitedGetOutcome =
  | GetOutcome
  /** The version that the caller has is the current one. */
  | { readonly kind: "unchanged" };

const pageLimits: GetLimits = {
  bytesMax: webBytesMax,
  timeoutMs: webTimeoutMs,
  redirectsMax: webRedirectsMax,
  mayFollow: isSamePlace,
};

/** One GET; redirects are followed only within the host. Nothing but the address is sent: no cookies, no keys. */
export async function getPage(net: Net, input: GetInput): Promise<GetOutcome> {
  const outcome = await getWithin(net, { ...input, limits: pageLimits });
  return outcome.kind === "unchanged" ? getFailure("the host sent nothing") : outcome;
}

/** The same with other limits. Every address on the way is checked before it is connected to. */
export async function getWithin(net: Net, { url, signal, limits, known }: LimitedGetInput): Promise<LimitedGetOutcome> {
  const { timeoutMs, redirectsMax, mayFollow } = limits;
  const time = AbortSignal.timeout(timeoutMs);
  const ended = AbortSignal.any([signal, time]);
  try {
    let at = url;
    for (let hop = 0; hop <= redirectsMax; hop += 1) {
      const answer = await exchange(net, { url: at, signal: ended, limits, known });
      if (answer.kind !== "redirect") return answer;
      if (!mayFollow(at, answer.to)) return { kind: "moved", to: answer.to.href };
      at = answer.to;
    }
    return getFailure(`it redirected more than ${redirectsMax} times`);
  } catch (error) {
    if (signal.aborted) return getFailure("it was interrupted");
    if (time.aborted) return getFailure(`it took longer than ${timeoutMs / 1000} seconds`);
    const code = errorCode(error);
    if (code === undefined) throw error;
    return getFailure(textByCode.get(code) ?? `the connection failed (${code})`);
  }
}

const getFailure = (why: string) => ({ kind: "failed", why }) as const;

const textByCode: ReadonlyMap<string, string> = new Map([
  ["ENOTFOUND", "there is no such host"],
  ["EAI_AGAIN", "the host's name could not be looked up"],
  ["ECONNREFUSED", "the host does not take connections there"],
  ["ECONNRESET", "the host broke off the connection"],
  ["CERT_HAS_EXPIRED", "the host's certificate has expired"],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", "the host's certificate is signed by itself"],
  ["ERR_TLS_CERT_ALTNAME_INVALID", "the certificate is another host's"],
]);

/** The same host and port, or an upgrade from HTTP to HTTPS at the default ports; never a downgrade. */
function isSamePlace(from: URL, to: URL): boolean {
  if (from.hostname !== to.hostname || to.username !== "" || to.password !== "") return false;
  return (from.protocol === to.protocol || to.protocol === "https:") && from.port === to.port;
}

type ExchangeOutcome = LimitedGetOutcome | { readonly kind: "redirect"; readonly to: URL };

async function exchange(net: Net, { url, signal, limits, known }: LimitedGetInput): Promise<ExchangeOutcome> {
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const aborted = {
    signal,
    instead: (): never => {
      throw signal.reason;
    },
  };
  const addresses = await raceAbort(net.resolve(host), aborted);
  if (addresses.length === 0) return getFailure("there is no such host");
  const closed = addresses.find(({ address }) => !net.mayConnect(address));
  if (closed !== undefined) return getFailure(`${host} leads to ${closed.address}, which is not on the open net`);
  const response = await raceAbort(sendRequest({ url, host, addresses, signal, known, ca: net.ca }), aborted);
  const { statusCode = 0, statusMessage = "", headers } = response;
  const location = redirects.has(statusCode) ? headers.location : undefined;
  if (location !== undefined) {
    response.destroy();
    return URL.canParse(location, url.href)
      ? { kind: "redirect", to: new URL(location, url) }
      : getFailure("it redirects to what is no address");
  }
  if (statusCode === 304 && known !== undefined) {
    response.destroy();
    return { kind: "unchanged" };
  }
  if (statusCode < 200 || statusCode > 299) {
    response.destroy();
    return getFailure(`the host answered ${statusCode} ${oneLine(statusMessage).slice(0, 100)}`.trim());
  }
  const { bytesMax } = limits;
  const bytes = await raceAbort(readBody(response, bytesMax), aborted);
  if (bytes === undefined)
    return getFailure(
      `it is larger than ${bytesMax < 2 ** 20 ? `${bytesMax / 2 ** 10} KiB` : `${bytesMax / 2 ** 20} MiB`}`,
    );
  const version = { etag: headers.etag, lastModified: headers["last-modified"] };
  return { kind: "body", url: url.href, contentType: headers["content-type"] ?? "", bytes, version };
}

/** Text from a host: its control characters must not reach a screen. */
const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

interface SendInput extends GetInput, Pick<LimitedGetInput, "known"> {
  readonly host: string;
  readonly addresses: readonly LookupAddress[];
  readonly ca: string | undefined;
}

/** Connects to the checked addresses: the name is not resolved again, so it can't lead elsewhere a moment later. */
function sendRequest({ url, host, addresses, signal, known, ca }: SendInput): Promise<IncomingMessage> {
  const options: RequestOptionsHttps = {
    method: "GET",
    host,
    port: url.port,
    path: `${url.pathname}${url.search}`,
    headers: {
      host: url.host,
      accept: "text/html, text/plain;q=0.9, */*;q=0.5",
      "accept-encoding": "gzip, deflate, br",
      "user-agent": "palimpsest",
      ...(known?.etag === undefined ? {} : { "if-none-match": known.etag }),
      ...(known?.lastModified === undefined ? {} : { "if-modified-since": known.lastModified }),
    },
    // A new connection: one that is kept open may lead to where the name led before.
    agent: false,
    lookup: (_host, lookupOptions, answer) => {
      const [first] = addresses;
      if (lookupOptions.all === true) answer(null, [...addresses]);
      else answer(null, first?.address ?? "", first?.family);
    },
    signal,
    ...(ca === undefined ? {} : { ca }),
  };
  const received = Promise.withResolvers<IncomingMessage>();
  const request = url.protocol === "https:" ? requestHttps(options) : requestHttp(options);
  request.once("response", received.resolve);
  // A host that switches to another protocol sends no response: treated as a refusal.
  request.once("upgrade", (response, socket) => {
    socket.destroy();
    received.resolve(response);
  });
  request.on("error", received.reject);
  request.once("close", () => received.reject(brokenOff()));
  request.end();
  return received.promise;
}

const brokenOff = (): Error => Object.assign(new Error("no answer came"), { code: "ECONNRESET" });

/** Undefined if the body is larger than it may be. */
async function readBody(response: IncomingMessage, bytesMax: number): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of decompress(response)) {
    if (!(chunk instanceof Uint8Array)) throw new TypeError("a body is bytes");
    size += chunk.byteLength;
    // Leaving the loop ends the stream and with it the connection.
    if (size > bytesMax) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function decompress(response: IncomingMessage): Readable {
  const unpack = createDecompressor(response.headers["content-encoding"]?.trim().toLowerCase());
  // An error before the decompressor ends it too and is thrown to its reader.
  return unpack === undefined ? response : pipeline(response, unpack, () => undefined);
}

function createDecompressor(encoding: string | undefined) {
  if (encoding === "gzip" || encoding === "x-gzip") return createGunzip();
  if (encoding === "br") return createBrotliDecompress();
  return encoding === "deflate" ? createInflate() : undefined;
}

/**
 * Whether an address is public. Not public: this machine, its neighbours, link-local addresses (where clouds hand out
 * keys), shared and reserved ranges, multicast, and IPv6 forms that embed an IPv4 address.
 */
export function isPublicAddress(address: string): boolean {
  const [withoutZone = ""] = address.split("%");
  switch (isIP(withoutZone)) {
    case 4:
      return !closedRanges.check(withoutZone, "ipv4");
    case 6:
      return openRanges6.check(withoutZone, "ipv6") && !closedRanges.check(withoutZone, "ipv6");
    default:
      return false;
  }
}

const closedRanges4: readonly (readonly [string, number])[] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  // Azure's internal service, which hands out keys to machines.
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

/** Exceptions within the public ranges. */
const closedRanges6: readonly (readonly [string, number])[] = [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
];

/** All IPv6 addresses that are allocated as public. */
const openRanges6 = new BlockList();
openRanges6.addSubnet("2000::", 3, "ipv6");

const closedRanges = new BlockList();
for (const [net, prefix] of closedRanges4) closedRanges.addSubnet(net, prefix, "ipv4");
for (const [net, prefix] of closedRanges6) closedRanges.addSubnet(net, prefix, "ipv6");

export interface Page {
  /** The address after redirects. */
  readonly url: string;
  readonly title: string | undefined;
  readonly text: string;
}

interface CachedPage {
  readonly page: Page;
  readonly at: Millis;
}

/** Pages by requested address, kept for a while. One cache per session, in memory. */
export class PageCache {
  readonly #keptByUrl = new Map<string, CachedPage>();
  #chars = 0;

  get(url: string, now: Millis): Page | undefined {
    const kept = this.#keptByUrl.get(url);
    if (kept === undefined) return undefined;
    const age = now - kept.at;
    if (age >= 0 && age < pageKeptMs) return kept.page;
    this.#drop(url, kept);
    return undefined;
  }

  put(url: string, kept: CachedPage): void {
    const before = this.#keptByUrl.get(url);
    if (before !== undefined) this.#drop(url, before);
    this.#keptByUrl.set(url, kept);
    this.#chars += kept.page.text.length;
    for (const [oldest, one] of this.#keptByUrl) {
      if (this.#keptByUrl.size <= pagesMax && this.#chars <= pagesCharsMax) return;
      this.#drop(oldest, one);
    }
  }

  #drop(url: string, { page }: CachedPage): void {
    this.#keptByUrl.delete(url);
    this.#chars -= page.text.length;
  }
}
