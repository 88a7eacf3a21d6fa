import { escapeRegExp } from "palimpsest/internal/text/fill-template";
import { maskEntry, maskJson, type MaskText } from "palimpsest/internal/export/mask-secrets";
import { isArray, isObject, type Json, type JsonObject } from "palimpsest/internal/schema/json";
import type { BodyContent, EventContent, ResponsePart } from "./cassette.ts";
import { parseJsonBody, hasRepeatedNames, parseEvent, rewriteEvent } from "./request-content.ts";

/**
 * What may be kept of a message. Requests are compared by their masked form, so masking twice must change nothing, and
 * what a client sends back of a reply must be masked as it was inside the reply: JSON inside a text is masked as JSON,
 * because a call's input comes as a text and goes back as an object.
 */
interface Masker {
  text: MaskText;
  body(json: Json): Json;
  content(content: BodyContent): BodyContent;
  path(path: string): string;
}

interface MaskerOptions {
  readonly mask: MaskText;
  /** Known secrets, whatever they look like. */
  readonly credentials: readonly string[];
}

const leftOut = "[left out]";
const hiddenMark = "[secret: key]";

/** Ids of organisations and projects, as errors quote them. Without a digit or a capital it is a word. */
const accountId = /\b(?:org-|proj_)(?=[a-z]*[A-Z0-9])[A-Za-z0-9]{16,}/g;
const accountMark = "[secret: account]";

export function createMasker({ mask, credentials }: MaskerOptions): Masker {
  const rules: MaskText = (source) => mask(source.replaceAll(accountId, accountMark));
  const hide = createCredentialMask(credentials, rules);
  const plain: MaskText = (source) => rules(hide(source));
  const text: MaskText = (source) => {
    const json = parseJsonBody(source);
    if (json === undefined) return plain(source);
    const masked = maskJson(json, text);
    return masked === json && !hasRepeatedNames(source, json) ? source : JSON.stringify(masked);
  };
  const body = (json: Json): Json => (isObject(json) ? maskEntry(withoutAccounts(json), text) : maskJson(json, text));
  const content = (whole: BodyContent): BodyContent => {
    if ("base64" in whole) return whole;
    if ("json" in whole) return { json: body(whole.json) };
    const json = parseJsonBody(whole.text);
    if (json === undefined) return { text: plain(whole.text) };
    const masked = body(json);
    return masked === json && !hasRepeatedNames(whole.text, json) ? whole : { json: masked };
  };
  return { text, body, content, path: (path) => maskPath(path, plain) };
}

/** Masks all credentials in one pass over a text, the longest first: one may begin with another. */
function createCredentialMask(credentials: readonly string[], rules: MaskText): MaskText {
  if (credentials.length === 0) return (source) => source;
  const longestFirst = credentials.toSorted((one, other) => other.length - one.length);
  const any = new RegExp(longestFirst.map((credential) => escapeRegExp(credential)).join("|"), "g");
  return (source) => source.replaceAll(any, (credential) => credentialMark(credential, rules));
}

/**
 * The mark that the rules would give, if they recognise the credential: a request without that header is then masked
 * alike.
 */
function credentialMark(credential: string, rules: MaskText): string {
  const marked = rules(credential);
  return /^\[secret: [a-z-]+\]$/.test(marked) ? marked : hiddenMark;
}

const accountFields: ReadonlySet<string> = new Set(["authorization", "authorization_token", "headers"]);

/**
 * Masks fields of the APIs that hold a key or name a user, whatever their value looks like. An event may hold a whole
 * reply.
 */
function withoutAccounts(body: JsonObject): JsonObject {
  const changed: Record<string, Json> = {};
  const { metadata, response } = body;
  if (isObject(response)) changed["response"] = withoutAccounts(response);
  if (isObject(metadata) && isPresent(metadata["user_id"])) changed["metadata"] = { ...metadata, user_id: leftOut };
  for (const name of ["user", "safety_identifier"]) if (isPresent(body[name])) changed[name] = leftOut;
  for (const name of ["mcp_servers", "tools"]) {
    const list = body[name];
    if (isArray(list) && list.some(hasAccount)) changed[name] = list.map(withoutAccount);
  }
  return Object.entries(changed).some(([name, value]) => value !== body[name]) ? { ...body, ...changed } : body;
}

const isPresent = (value: Json | undefined): boolean => value !== undefined && value !== null;

const hasAccount = (item: Json): boolean => isObject(item) && Object.entries(item).some((field) => isAccount(field));

const withoutAccount = (item: Json): Json =>
  isObject(item)
    ? Object.fromEntries(
        Object.entries(item).map(([name, value]) => [name, isAccount([name, value]) ? leftOut : value]),
      )
    : item;

const isAccount = ([name, value]: readonly [string, Json]): boolean => accountFields.has(name) && isPresent(value);

const secretParameter = /key|token|secret|auth|sig|credential|password/i;

function maskPath(path: string, mask: MaskText): string {
  const [place = "", query] = path.split(/\?(.*)/s);
  if (query === undefined) return mask(place);
  const parameters = query.split("&").map((parameter) => {
    const [name = "", value] = parameter.split(/=(.*)/s);
    return value !== undefined && secretParameter.test(name) ? `${name}=${leftOut}` : mask(parameter);
  });
  return `${mask(place)}?${parameters.join("&")}`;
}

/**
 * The parts of a response, masked. A secret in a stream is spread over many events, so the pieces of one text are
 * masked together and cut again where they were cut before. Parts without a secret keep their exact bytes.
 */
export function maskParts(parts: readonly ResponsePart[], masker: Masker): readonly ResponsePart[] {
  const events = parts.map(({ content }) => contentEvent(content));
  const masked = maskPieces(events, masker);
  return parts.map((part, at) => {
    const { content } = part;
    const event = events[at];
    const data = masked[at];
    if (event === undefined || data === undefined)
      return "data" in content ? part : { ...part, content: masker.content(content) };
    if ("text" in content)
      return { ...part, content: { text: rewriteEvent(content.text, { data, event, mask: masker.text }) } };
    return data === event.data ? part : { ...part, content: { ...event, data } };
  });
}

function contentEvent(content: ResponsePart["content"]): EventContent | undefined {
  if ("data" in content) return content;
  return "text" in content ? parseEvent(content.text) : undefined;
}

type JsonPath = readonly (string | number)[];

/** One event's piece of a text. */
interface TextPiece {
  readonly at: number;
  readonly path: JsonPath;
  readonly text: string;
}

function maskPieces(events: readonly (EventContent | undefined)[], masker: Masker): readonly (Json | undefined)[] {
  const data = events.map((event) => (event === undefined ? undefined : masker.body(event.data)));
  const piecesByText = new Map<string, TextPiece[]>();
  for (const [at, event] of events.entries()) {
    if (!isObject(event?.data)) continue;
    const { type, index, output_index: output, content_index: content, item_id: item } = event.data;
    for (const { path, name, text } of findDeltas(event.data)) {
      const whole = JSON.stringify([type, index, output, content, item, name]);
      const pieces = piecesByText.get(whole);
      if (pieces === undefined) piecesByText.set(whole, [{ at, path, text }]);
      else pieces.push({ at, path, text });
    }
  }
  for (const pieces of piecesByText.values()) {
    const whole = pieces.map(({ text }) => text).join("");
    const masked = masker.text(whole);
    if (masked === whole) continue;
    for (const [number, text] of splitLikePieces(masked, pieces).entries()) {
      const piece = pieces[number];
      if (piece !== undefined) data[piece.at] = replaceTextAt(data[piece.at] ?? null, piece.path, text);
    }
  }
  return data;
}

interface Delta {
  readonly path: JsonPath;
  /** The path with the indices that the API gives, not those in a list. */
  readonly name: JsonPath;
  readonly text: string;
}

/** Fields beside a text that say what it is. */
const labels: ReadonlySet<string> = new Set(["type", "id", "role", "signature", "stop_reason"]);

/** Every text below a `delta`, in the formats of all APIs that stream. */
function* findDeltas(value: Json, path: JsonPath = [], name: JsonPath = []): Generator<Delta> {
  if (typeof value === "string") {
    if (path.includes("delta")) yield { path, name, text: value };
  } else if (isArray(value)) {
    for (const [at, one] of value.entries())
      yield* findDeltas(
        one,
        [...path, at],
        [...name, isObject(one) && typeof one["index"] === "number" ? one["index"] : at],
      );
  } else if (isObject(value)) {
    for (const [key, inner] of Object.entries(value))
      if (!labels.has(key)) yield* findDeltas(inner, [...path, key], [...name, key]);
  }
}

/** Pieces as long as they were, the last with all the rest; no character is cut in two. */
function splitLikePieces(text: string, pieces: readonly TextPiece[]): readonly string[] {
  let start = 0;
  let offset = 0;
  return pieces.map((piece, at) => {
    offset += piece.text.length;
    const end = at === pieces.length - 1 ? text.length : Math.max(start, characterBoundary(text, offset));
    const cut = text.slice(start, end);
    start = end;
    return cut;
  });
}

const characterBoundary = (text: string, end: number): number =>
  /[\uDC00-\uDFFF]/.test(text[end] ?? "") ? end + 1 : end;

function replaceTextAt(value: Json, [key, ...rest]: JsonPath, text: string): Json {
  if (key === undefined) return text;
  if (isArray(value)) return value.map((one, at) => (at === key ? replaceTextAt(one, rest, text) : one));
  return isObject(value) ? { ...value, [key]: replaceTextAt(value[key] ?? null, rest, text) } : value;
}
