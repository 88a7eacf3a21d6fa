import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";

/** A person or program that sends requests with a gateway key. */
export interface User {
  readonly name: string;
  /** SHA-256 of the user's gateway key, in hex. Keys are long and random, so a slow hash is not needed. */
  readonly keySha256: string;
  /** Sent upstream in place of all credentials of the client. Without one, those pass that are not the gateway key. */
  readonly upstreamKeys: UpstreamKeys;
  readonly requestsPerMinute?: number | undefined;
  readonly usdPerDay?: number | undefined;
}

export interface UpstreamKeys {
  readonly anthropic?: string | undefined;
  readonly openai?: string | undefined;
}

/** The user of every request if the config lists no users: anyone who can reach the address. */
export const localUser = "local";

export interface SpendToday {
  /** Dollars since midnight, UTC, for replies whose price is known. */
  usdToday(user: string): number;
  /** Replies since midnight, UTC, whose price is not known. */
  unpricedToday(user: string): number;
}

export interface UserRegistryOptions {
  /** Empty: all requests are of the user `local`, with their own credentials. */
  readonly users: readonly User[];
  /** Milliseconds. */
  readonly now: () => number;
  readonly spend: SpendToday;
}

export type Identity =
  | { readonly kind: "user"; readonly name: string; readonly headers: IncomingHttpHeaders }
  | { readonly kind: "unknown" };

/** Whose key pays for a request, and whether spending is limited. */
export interface ClientAccount {
  /** `operator`: the key is shared, so the upstream can't tell this user from others. */
  readonly key: "client" | "operator";
  readonly spend: "limited" | "unlimited";
}

export type Admission =
  | { readonly kind: "admitted" }
  /** `retryAfter`: seconds. */
  | { readonly kind: "rate-limit" | "spend-limit"; readonly retryAfter: number; readonly message: string };

interface Bucket {
  requests: number;
  at: number;
}

export class UserRegistry {
  #userByHash: ReadonlyMap<string, User> = new Map();
  #userByName: ReadonlyMap<string, User> = new Map();
  readonly #bucketByName = new Map<string, Bucket>();
  readonly #now: () => number;
  readonly #spend: SpendToday;

  constructor({ users, now, spend }: UserRegistryOptions) {
    this.#now = now;
    this.#spend = spend;
    this.replace(users);
  }

  /** From the next request on. What was used of a limit stays used. */
  replace(users: readonly User[]): void {
    this.#userByHash = new Map(users.map((user) => [user.keySha256, user]));
    this.#userByName = new Map(users.map((user) => [user.name, user]));
  }

  get hasUsers(): boolean {
    return this.#userByName.size > 0;
  }

  get names(): readonly string[] {
    return [...this.#userByName.keys()];
  }

  account(name: string, api: keyof UpstreamKeys): ClientAccount {
    const user = this.#userByName.get(name);
    return {
      key: user?.upstreamKeys[api] === undefined ? "client" : "operator",
      spend: user?.usdPerDay === undefined ? "unlimited" : "limited",
    };
  }

  /** `headers` of the identity go upstream: the gateway key is not among them. */
  identify(headers: IncomingHttpHeaders, api: keyof UpstreamKeys): Identity {
    if (!this.hasUsers) return { kind: "user", name: localUser, headers };
    const { "x-palimpsest-key": own, ...others } = headers;
    const { "x-api-key": _key, authorization: _authorization, ...withoutCredentials } = others;
    const key = typeof own === "string" ? own : sentKey(headers);
    const user = key === undefined ? undefined : this.#userByHash.get(hashKey(key));
    if (user === undefined) return { kind: "unknown" };
    const upstreamKey = user.upstreamKeys[api];
    if (upstreamKey === undefined)
      return { kind: "user", name: user.name, headers: typeof own === "string" ? others : withoutCredentials };
    const credentials = api === "anthropic" ? { "x-api-key": upstreamKey } : { authorization: `Bearer ${upstreamKey}` };
    return { kind: "user", name: user.name, headers: { ...withoutCredentials, ...credentials } };
  }

  /** Takes one request of the user's limit, if there is one left. */
  admit(name: string): Admission {
    const user = this.#userByName.get(name);
    if (user === undefined) return { kind: "admitted" };
    const { requestsPerMinute, usdPerDay } = user;
    if (usdPerDay !== undefined && this.#spend.usdToday(name) >= usdPerDay)
      return {
        kind: "spend-limit",
        retryAfter: secondsToMidnight(this.#now()),
        message: `${name} has reached today's spend limit ($${usdPerDay}). It resets at midnight UTC.`,
      };
    if (requestsPerMinute === undefined) return { kind: "admitted" };
    const retryAfter = this.#takeRequest(name, requestsPerMinute);
    return retryAfter === undefined
      ? { kind: "admitted" }
      : {
          kind: "rate-limit",
          retryAfter,
          message: `Rate limit: ${name} may send ${requestsPerMinute} requests per minute.`,
        };
  }

  /** Seconds to wait, if there is none left. The bucket fills evenly. */
  #takeRequest(name: string, perMinute: number): number | undefined {
    const now = this.#now();
    // Less than one request a minute still has to add up to a whole one.
    const size = Math.max(1, perMinute);
    const bucket = this.#bucketByName.get(name) ?? { requests: size, at: now };
    const requests = Math.min(size, bucket.requests + ((now - bucket.at) / 60_000) * perMinute);
    if (requests < 1) {
      this.#bucketByName.set(name, { requests, at: now });
      return ((1 - requests) / perMinute) * 60;
    }
    this.#bucketByName.set(name, { requests: requests - 1, at: now });
    return undefined;
  }
}

export const hashKey = (key: string): string => createHash("sha256").update(key).digest("hex");

export const createGatewayKey = (): string => `plk_${randomBytes(24).toString("base64url")}`;

/** Takes the same time wherever they differ. */
export const isSameSecret = (one: string, other: string): boolean =>
  timingSafeEqual(createHash("sha256").update(one).digest(), createHash("sha256").update(other).digest());

/** Anthropic's clients send `x-api-key`, or a bearer token; OpenAI's a bearer token. */
export function sentKey({ "x-api-key": key, authorization }: IncomingHttpHeaders): string | undefined {
  if (typeof key === "string") return key;
  return /^Bearer +(\S+)$/i.exec(authorization ?? "")?.[1];
}

const secondsToMidnight = (now: number): number => (dayMs - (now % dayMs)) / 1_000;
const dayMs = 86_400_000;
