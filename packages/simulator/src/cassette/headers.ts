import { credentialCharsMin } from "../limits.ts";

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

export const keptRequestHeaders = (headers: Headers): Record<string, string> => kept(headers, requestHeadersKept);
export const keptResponseHeaders = (headers: Headers): Record<string, string> => kept(headers, responseHeadersKept);

const kept = (headers: Headers, names: readonly RegExp[]): Record<string, string> =>
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
export function forwardedRequestHeaders(headers: Headers): Headers {
  const forwarded = passedOn(headers);
  forwarded.set("accept-encoding", "identity");
  return forwarded;
}

/** For the client. An upstream that packs its answer all the same has been unpacked by `fetch`. */
export function forwardedResponseHeaders(headers: Headers): Headers {
  const forwarded = passedOn(headers);
  forwarded.delete("content-encoding");
  return forwarded;
}

function passedOn(headers: Headers): Headers {
  const named = new Set((headers.get("connection") ?? "").toLowerCase().split(/[\s,]+/));
  return new Headers([...headers].filter(([name]) => !hopByHop.has(name) && !named.has(name)));
}

const credentialName = /key|token|secret|auth|cookie|credential|password/;

/** They name who asks: a person or a company. */
const accountName = /organi[sz]ation|project|workspace/;

/** Limits are counted in tokens: what may be kept is no secret. */
const isOpen = (name: string): boolean => responseHeadersKept.some((shape) => shape.test(name));

/** The secrets that this message's headers hold, to be found in its body too: errors like to quote a key. */
export function credentialsIn(headers: Headers): readonly string[] {
  const secrets = [...headers].filter(([name]) => !isOpen(name)).flatMap(([name, value]) => secretsIn(name, value));
  return [...new Set(secrets)].filter((secret) => secret.length >= credentialCharsMin);
}

function secretsIn(name: string, value: string): readonly string[] {
  if (accountName.test(name)) return [value];
  if (!credentialName.test(name)) return [];
  // What stands behind a new cookie says where it is valid: addresses are no secrets.
  const told = name === "set-cookie" ? value.replace(/;.*$/s, "") : value;
  return told.split(/[\s;,]+/).flatMap((word) => [word, word.replace(/^[^=]*=/, "")]);
}
