import { maskEntry, maskJson } from "palimpsest/internal/export/mask-json";
import type { MaskText } from "palimpsest/internal/export/mask-secrets";
import { isArray, isObject, type Json, type JsonObject } from "palimpsest/internal/schema/json";
import type { Content } from "./line.ts";
import { parsedBody, repeatsNames } from "./parsed-body.ts";

/**
 * What may be kept of a message. Requests are compared by their masked form, so masking twice must change nothing, and
 * what a client sends back of a reply must be masked as it was inside the reply: JSON that stands in a text is masked
 * as JSON, since a call's input comes as a text and goes back as an object.
 */
export interface Masker {
  text: MaskText;
  body(json: Json): Json;
  content(content: Content): Content;
  path(path: string): string;
}

export interface MaskerOptions {
  readonly mask: MaskText;
  /** Secrets that are known as such, whatever they look like. */
  readonly credentials: readonly string[];
}

const leftOut = "[left out]";
const hiddenMark = "[secret: key]";

/** Of an organisation or a project, as errors quote them. Without a digit or a capital it is a word. */
const accountId = /\b(?:org-|proj_)(?=[a-z]*[A-Z0-9])[A-Za-z0-9]{16,}/g;
const accountMark = "[secret: account]";

export function createMasker({ mask, credentials }: MaskerOptions): Masker {
  const rules: MaskText = (source) => mask(source.replaceAll(accountId, accountMark));
  const hide = hiding(credentials, rules);
  const plain: MaskText = (source) => rules(hide(source));
  const text: MaskText = (source) => {
    const json = parsedBody(source);
    if (json === undefined) return plain(source);
    const masked = maskJson(json, text);
    return masked === json && !repeatsNames(source, json) ? source : JSON.stringify(masked);
  };
  const body = (json: Json): Json => (isObject(json) ? maskEntry(withoutAccounts(json), text) : maskJson(json, text));
  const content = (whole: Content): Content => {
    if ("base64" in whole) return whole;
    if ("json" in whole) return { json: body(whole.json) };
    const json = parsedBody(whole.text);
    if (json === undefined) return { text: plain(whole.text) };
    const masked = body(json);
    return masked === json && !repeatsNames(whole.text, json) ? whole : { json: masked };
  };
  return { text, body, content, path: (path) => maskedPath(path, plain) };
}

/** In one pass over a text, the longest first: one may begin with another. */
function hiding(credentials: readonly string[], rules: MaskText): MaskText {
  if (credentials.length === 0) return (source) => source;
  const longestFirst = credentials.toSorted((one, other) => other.length - one.length);
  const any = new RegExp(longestFirst.map((credential) => RegExp.escape(credential)).join("|"), "g");
  return (source) => source.replaceAll(any, (credential) => credentialMark(credential, rules));
}

/** The mark that the rules would give, where they know it: a request whose headers do not tell is masked alike. */
function credentialMark(credential: string, rules: MaskText): string {
  const marked = rules(credential);
  return /^\[secret: [a-z-]+\]$/.test(marked) ? marked : hiddenMark;
}

const accountFields: ReadonlySet<string> = new Set(["authorization", "authorization_token", "headers"]);

/** Fields of the APIs that hold a key or name a person, whatever their value looks like. An event may hold a whole reply. */
function withoutAccounts(body: JsonObject): JsonObject {
  const changed: Record<string, Json> = {};
  const { metadata, response } = body;
  if (isObject(response)) changed["response"] = withoutAccounts(response);
  if (isObject(metadata) && isTold(metadata["user_id"])) changed["metadata"] = { ...metadata, user_id: leftOut };
  for (const name of ["user", "safety_identifier"]) if (isTold(body[name])) changed[name] = leftOut;
  for (const name of ["mcp_servers", "tools"]) {
    const list = body[name];
    if (isArray(list) && list.some((one) => hasAccount(one))) changed[name] = list.map((one) => withoutAccount(one));
  }
  return Object.entries(changed).some(([name, value]) => value !== body[name]) ? { ...body, ...changed } : body;
}

const isTold = (value: Json | undefined): boolean => value !== undefined && value !== null;

const hasAccount = (one: Json): boolean => isObject(one) && Object.entries(one).some((field) => isAccount(field));

const withoutAccount = (one: Json): Json =>
  isObject(one)
    ? Object.fromEntries(Object.entries(one).map(([name, value]) => [name, isAccount([name, value]) ? leftOut : value]))
    : one;

const isAccount = ([name, value]: readonly [string, Json]): boolean => accountFields.has(name) && isTold(value);

const secretParameter = /key|token|secret|auth|sig|credential|password/i;

function maskedPath(path: string, mask: MaskText): string {
  const [place = "", query] = path.split(/\?(.*)/s);
  if (query === undefined) return mask(place);
  const parameters = query.split("&").map((parameter) => {
    const [name = "", value] = parameter.split(/=(.*)/s);
    return value !== undefined && secretParameter.test(name) ? `${name}=${leftOut}` : mask(parameter);
  });
  return `${mask(place)}?${parameters.join("&")}`;
}
