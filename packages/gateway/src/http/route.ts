import type { Provider } from "palimpsest/internal/context/provider-formats";
import type { ClientRequest } from "../exchange/exchange.ts";
import type { ClientAccount } from "../operate/users.ts";
import { pathCharsMax, projectCharsMax } from "./limits.ts";

export type GatewayPage = "status" | "status.json" | "metrics" | "health" | "release" | "forget";

export type Route =
  | {
      readonly kind: "exchange";
      readonly provider: Provider;
      readonly operation: ClientRequest["operation"];
      readonly path: string;
      readonly project: string | undefined;
    }
  /** Passed on as it is. */
  | { readonly kind: "pass"; readonly path: string }
  | { readonly kind: "own"; readonly page: GatewayPage }
  | { readonly kind: "absent" }
  | { readonly kind: "wrong"; readonly message: string };

const operations: ReadonlyMap<string, Pick<Extract<Route, { kind: "exchange" }>, "provider" | "operation">> = new Map([
  ["/v1/messages", { provider: "anthropic", operation: "create" }],
  ["/v1/messages/count_tokens", { provider: "anthropic", operation: "count" }],
  ["/v1/chat/completions", { provider: "openai-chat", operation: "create" }],
  ["/v1/responses", { provider: "openai-responses", operation: "create" }],
  ["/v1/responses/compact", { provider: "openai-responses", operation: "compact" }],
]);

const methodsByPage: ReadonlyMap<string, { readonly page: GatewayPage; readonly methods: readonly string[] }> = new Map(
  (["status", "status.json", "metrics", "health", "release", "forget"] as const).map((page) => [
    page,
    { page, methods: page === "release" || page === "forget" ? ["POST"] : ["GET", "HEAD"] },
  ]),
);

/**
 * Classifies a request line. `url` is not decoded, and a path that another server could read differently is refused.
 * A base URL may name its project: `/project/<base64url of the project's key>`.
 */
export function parseRoute(method: string, url: string): Route {
  const problem = findPathProblem(url);
  if (problem !== undefined) return { kind: "wrong", message: problem };
  const [, encoded, rest = url] = /^\/project\/([^/?]*)(\/.*)$/.exec(url) ?? [];
  const project = encoded === undefined ? undefined : parseProject(encoded);
  if (encoded !== undefined && project === undefined)
    return { kind: "wrong", message: "The project in the path is not valid base64url." };
  const [path = "/"] = rest.split("?", 1);
  if (path === "/palimpsest" || path.startsWith("/palimpsest/")) return parseGatewayPage(method, path);
  const operation = method === "POST" ? operations.get(path) : undefined;
  return operation === undefined
    ? { kind: "pass", path: rest }
    : { kind: "exchange", ...operation, path: rest, project };
}

/** Paths that cost nothing and show nothing of other users. */
const freePaths: readonly (readonly [method: string, path: string])[] = [
  ["GET", "/v1/models"],
  ["POST", "/v1/responses/input_tokens"],
];

/**
 * Whether a path that is passed on unchanged may be used. With the operator's key, a user would see the files, batches and
 * responses of all others, and these paths are not charged, so the operator must allow them. `paths`: each stands for itself
 * and everything below it, with any method.
 */
export function isPathAllowed({
  method = "GET",
  route: { path },
  account,
  paths = [],
}: {
  readonly method: string | undefined;
  readonly route: Extract<Route, { kind: "pass" }>;
  readonly account: ClientAccount;
  readonly paths?: readonly string[] | undefined;
}): boolean {
  if (account.key === "client" && account.spend === "unlimited") return true;
  const [bare = ""] = path.split("?", 1);
  const isBelow = (parent: string): boolean => bare === parent || bare.startsWith(`${parent.replace(/\/$/, "")}/`);
  return freePaths.some(([free, parent]) => method === free && isBelow(parent)) || paths.some(isBelow);
}

/** The base URL's prefix for a project. */
export const projectPrefix = (project: string): string => `/project/${Buffer.from(project).toString("base64url")}`;

function parseGatewayPage(method: string, path: string): Route {
  const known = methodsByPage.get(path.slice("/palimpsest/".length));
  return known?.methods.includes(method) === true ? { kind: "own", page: known.page } : { kind: "absent" };
}

function parseProject(encoded: string): string | undefined {
  const bytes = Buffer.from(encoded, "base64url");
  const text = bytes.toString();
  const isExact = bytes.toString("base64url") === encoded && Buffer.from(text).equals(bytes);
  return isExact && text !== "" && text.length <= projectCharsMax && !/\p{Cc}/u.test(text) ? text : undefined;
}

/** Segments are of the characters that RFC 3986 allows; an escape must not hide one that has a meaning in a path. */
const pathShape = /^(?:\/(?:[\w.~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})*)+$/;
const queryShape = /^[!-~]*$/;
const hiddenCharacters = /%(?:2[ef]|5c|00|23|3f|25)/i;

function findPathProblem(url: string): string | undefined {
  if (url.length > pathCharsMax) return "The path is too long.";
  if (!url.startsWith("/")) return "The request line must contain a path, without scheme and host.";
  const [path = "", ...query] = url.split("?");
  if (path.includes("//")) return "The path contains an empty segment.";
  if (path.split("/").some((segment) => segment === "." || segment === ".."))
    return "The path contains a . or .. segment.";
  if (hiddenCharacters.test(path))
    return "The path contains an escaped dot, slash, backslash, percent, ?, # or zero byte.";
  if (!pathShape.test(path)) return "The path contains an invalid character.";
  return queryShape.test(query.join("?")) && !url.includes("#")
    ? undefined
    : "The query contains an invalid character.";
}
