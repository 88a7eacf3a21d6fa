/** A base URL as clients write it, taken apart. `prefix` stands before each path. */
export interface UpstreamUrl {
  readonly kind: "url";
  readonly origin: string;
  readonly prefix: string;
}

type UpstreamUrlOutcome = UpstreamUrl | { readonly kind: "wrong"; readonly message: string };

/** Takes `https://api.openai.com/v1` for `https://api.openai.com`: paths begin with /v1 already. */
export function parseUpstreamUrl(text: string): UpstreamUrlOutcome {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== "https:" && url.protocol !== "http:"))
    return { kind: "wrong", message: `${text} is not a URL: use https://… or http://…` };
  if (url.username !== "" || url.password !== "")
    return { kind: "wrong", message: "an upstream URL must not contain a user name or a password" };
  if (url.search !== "" || url.hash !== "") return { kind: "wrong", message: `${text} must not have a query or a #` };
  return { kind: "url", origin: url.origin, prefix: url.pathname.replace(/\/+$/, "").replace(/\/v1$/, "") };
}

/** Whether keys would cross a network unencrypted. */
export const isPlainText = (text: string): boolean => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url?.protocol === "http:" && !isLoopbackHost(url.hostname.replaceAll(/[[\]]/g, ""));
};

const isLoopbackHost = (host: string): boolean =>
  host === "localhost" || host === "::1" || /^127(?:\.\d{1,3}){3}$/.test(host);
