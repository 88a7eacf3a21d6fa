import { isArray, isObject, type Json } from "palimpsest/internal/schema/json";
import { hashOf } from "../hash.ts";
import type { RecordedRequest } from "./line.ts";

/** What two requests are compared by. */
export interface Comparable {
  readonly method: string;
  readonly path: string;
  readonly body: Json;
}

export type Asked = Pick<RecordedRequest, "method" | "path" | "body">;

/** A masked request without what differs from run to run. */
export function comparable({ method, path, body }: Asked): Comparable {
  const [place = "", query] = path.split(/\?(.*)/s);
  const sorted = query === undefined ? "" : `?${query.split("&").toSorted().join("&")}`;
  return { method, path: `${place}${sorted}`, body: comparedBody(body) };
}

/** The same for the same request: order of fields does not matter, order of lists does, nor what kind of secret was masked. */
export const requestKey = ({ method, path, body }: Comparable): string =>
  hashOf(withoutKinds(JSON.stringify([method, path, sortedJson(body)])));

/** A key that a header told about and one that a rule found by the name before it are of different kinds, and the same. */
export const withoutKinds = (masked: string): string => masked.replaceAll(/\[secret: [a-z-]+\]/g, "[secret]");

function comparedBody(body: Asked["body"]): Json {
  if (body === null) return null;
  if (!("json" in body)) return "text" in body ? body.text : body.base64;
  return isObject(body.json) ? withoutVolatile(body.json) : body.json;
}

/** Told for statistics and routing: two runs of one program differ in them and nothing else. */
const volatile: ReadonlySet<string> = new Set(["user", "safety_identifier", "prompt_cache_key"]);

function withoutVolatile(body: { readonly [name: string]: Json }): Json {
  const stable = Object.entries(body).filter(([name]) => !volatile.has(name));
  return Object.fromEntries(
    stable.flatMap(([name, value]) => (name === "metadata" ? withoutUser(value) : [[name, value]])),
  );
}

/** Metadata that says no more than who asks might as well be absent. */
function withoutUser(metadata: Json): readonly (readonly [string, Json])[] {
  if (!isObject(metadata)) return [["metadata", metadata]];
  const { user_id: _, ...rest } = metadata;
  return Object.keys(rest).length === 0 ? [] : [["metadata", rest]];
}

function sortedJson(value: Json): Json {
  if (isArray(value)) return value.map((one) => sortedJson(one));
  if (!isObject(value)) return value;
  const names = Object.keys(value).toSorted();
  // A list of pairs: an object would put names that are numbers first, and lose `__proto__`.
  return { "": names.map((name) => [name, sortedJson(value[name] ?? null)]) };
}
