import { credentialsMax, credentialCharsMin } from "../limits.ts";

/**
 * Secrets that headers held, of all messages so far: a client may send back what a reply quoted, when the header that
 * told that it is a secret is long gone. It must be masked there as it was in the reply.
 */
export class Credentials {
  readonly #seen = new Set<string>();

  /** Those of this message and all before it. Those that were not seen for the longest time are forgotten first. */
  seenWith(headers: Headers): readonly string[] {
    for (const credential of findCredentials(headers)) {
      this.#seen.delete(credential);
      this.#seen.add(credential);
    }
    for (const credential of this.#seen) {
      if (this.#seen.size <= credentialsMax) break;
      this.#seen.delete(credential);
    }
    return [...this.#seen];
  }
}

/** All that a cassette keeps of a request's headers; what is not named here is nobody's business later. */
const requestHeadersKept: readonly RegExp[] = [
  /^anthropic-(?:version|beta)$/,
  /^openai-beta$/,
  /^content-type$/,
  /^accept$/,
];

const responseHeadersKept: readonly RegExp[] = [
  /^content-type$/,
  /^(?:x-)?request-id$/,
  /^retry-after(?:-ms)?$/,
  /^x-should-retry$/,
  /^(?:anthropic|x)-ratelimit-[a-z-]+$/,
];

export const pickRequestHeaders = (headers: Headers): Record<string, string> =>
  pickHeaders(headers, requestHeadersKept);
export const pickResponseHeaders = (headers: Headers): Record<string, string> =>
  pickHeaders(headers, responseHeadersKept);

const pickHeaders = (headers: Headers, names: readonly RegExp[]): Record<string, string> =>
  Object.fromEntries([...headers].filter(([name]) => names.some((shape) => shape.test(name))));

/** Of one connection, not of the message; and what says how long or how packed a body is that `fetch` has unpacked. */
const hopByHop: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** For the upstream, keys included. Unpacked answers are asked for: they are kept as they come. */
export function upstreamRequestHeaders(headers: Headers): Headers {
  const forwarded = dropHopByHop(headers);
  forwarded.set("accept-encoding", "identity");
  return forwarded;
}

/** For the client. An upstream that packs its answer all the same has been unpacked by `fetch`. */
export function clientResponseHeaders(headers: Headers): Headers {
  const forwarded = dropHopByHop(headers);
  forwarded.delete("content-encoding");
  return forwarded;
}

function dropHopByHop(headers: Headers): Headers {
  const named = new Set((headers.get("connection") ?? "").toLowerCase().split(/[\s,]+/));
  return new Headers([...headers].filter(([name]) => !hopByHop.has(name) && !named.has(name)));
}

const credentialName = /key|token|secret|auth|cookie|credential|password/;

/** They name who asks: a person or a company. */
const accountName = /organi[sz]ation|project|workspace/;

/** Limits are counted in tokens: what may be kept is no secret. */
const isPublicHeader = (name: string): boolean => responseHeadersKept.some((shape) => shape.test(name));

/** The secrets that this message's headers hold, to be found in its body too: errors like to quote a key. */
export function findCredentials(headers: Headers): readonly string[] {
  const secrets = [...headers]
    .filter(([name]) => !isPublicHeader(name))
    .flatMap(([name, value]) => findHeaderSecrets(name, value));
  return [...new Set(secrets)].filter((secret) => secret.length >= credentialCharsMin);
}

function findHeaderSecrets(name: string, value: string): readonly string[] {
  if (accountName.test(name)) return [value];
  if (!credentialName.test(name)) return [];
  // What stands behind a new cookie says where it is valid: addresses are no secrets.
  const told = name === "set-cookie" ? value.replace(/;.*$/s, "") : value;
  return told.split(/[\s;,]+/).flatMap((word) => [word, word.replace(/^[^=]*=/, "")]);
}
