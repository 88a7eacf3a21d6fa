import { credentialsMax, credentialCharsMin } from "../limits.ts";

/**
 * Secrets in the headers of all messages so far. A client may send back what a reply quoted, long after the header that
 * marked it as a secret; it must be masked then as it was in the reply.
 */
export class Credentials {
  readonly #seen = new Set<string>();

  /** The secrets of this message and all before it. The least recently seen are forgotten first. */
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

/** The request headers that a cassette keeps; all others are dropped. */
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

/**
 * Headers of one connection, not of the message, and the length and encoding of a body that `fetch` has decompressed.
 */
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

/** Headers for the upstream, keys included. They ask for uncompressed answers, which are kept as they come. */
export function upstreamRequestHeaders(headers: Headers): Headers {
  const forwarded = dropHopByHop(headers);
  forwarded.set("accept-encoding", "identity");
  return forwarded;
}

/** Headers for the client. If the upstream compresses its answer all the same, `fetch` has decompressed it. */
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

/** Headers with these words name the account: a user or a company. */
const accountName = /organi[sz]ation|project|workspace/;

/** Limits are counted in tokens, so the word alone does not make a secret: a header that may be kept is none. */
const isPublicHeader = (name: string): boolean => responseHeadersKept.some((shape) => shape.test(name));

/** The secrets in this message's headers, to be masked in its body too: errors often quote a key. */
export function findCredentials(headers: Headers): readonly string[] {
  const secrets = [...headers]
    .filter(([name]) => !isPublicHeader(name))
    .flatMap(([name, value]) => findHeaderSecrets(name, value));
  return [...new Set(secrets)].filter((secret) => secret.length >= credentialCharsMin);
}

function findHeaderSecrets(name: string, value: string): readonly string[] {
  if (accountName.test(name)) return [value];
  if (!credentialName.test(name)) return [];
  // The attributes of a new cookie say where it is valid: addresses are not secrets.
  const secretPart = name === "set-cookie" ? value.replace(/;.*$/s, "") : value;
  return secretPart.split(/[\s;,]+/).flatMap((word) => [word, word.replace(/^[^=]*=/, "")]);
}
