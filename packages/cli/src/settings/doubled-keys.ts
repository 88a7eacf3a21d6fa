import { parseJson } from "palimpsest/internal/schema/json";

/** Keys that stand twice in one object of a JSON text, as paths. The parser takes the last without a word. */
export function doubledKeys(json: string): readonly string[] {
  const doubled = new Set<string>();
  const open: Level[] = [];
  let last = "";
  for (const [token] of json.matchAll(tokens)) {
    const level = open.at(-1);
    if (token === "{" || token === "[") open.push({ keys: new Set(), path: level?.at ?? "", at: level?.at ?? "" });
    else if (token === "}" || token === "]") open.pop();
    else if (token === ":" && level !== undefined) {
      const parsed = parseJson(last);
      const key = typeof parsed === "string" ? parsed : last;
      level.at = level.path === "" ? key : `${level.path}.${key}`;
      if (level.keys.has(key)) doubled.add(level.at);
      level.keys.add(key);
    }
    last = token;
  }
  return [...doubled];
}

interface Level {
  readonly keys: Set<string>;
  /** Of the object or list, and of the value that stands in it now. */
  readonly path: string;
  at: string;
}

/** Texts whole, so that what stands in them is not taken for structure. */
const tokens = /"(?:[^"\\]|\\.)*"|[{}[\]:]/gs;
