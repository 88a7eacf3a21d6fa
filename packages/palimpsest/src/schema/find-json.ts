import { isArray, isObject, type Json, tryParseJson } from "./json.ts";

/**
 * The list or object that a model answered with: the whole answer, else the last fenced block that is one, else the longest
 * part from a line that begins with a bracket to the last bracket. Undefined if there is none. Tries a bounded number of
 * places, since each costs a parse.
 */
export function findJson(answer: string): Json | undefined {
  const blocks = [...answer.matchAll(/^[ \t]*```[a-z]*[ \t]*\n([\s\S]*?)^[ \t]*```[ \t]*$/gim)];
  const fenced = blocks.map(([, content = ""]) => content).toReversed();
  const starts = [...answer.matchAll(/^[ \t]*[[{]/gm)].map(({ index }) => index);
  const end = Math.max(answer.lastIndexOf("]"), answer.lastIndexOf("}")) + 1;
  const parts = starts.filter((start) => start < end).map((start) => answer.slice(start, end));
  for (const text of [answer, ...fenced, ...parts].slice(0, placesMax)) {
    const value = tryParseJson(text.trim());
    if (isArray(value) || isObject(value)) return value;
  }
  return undefined;
}

/** An answer that is asked for as JSON has a sentence before it at most; more places are prose with brackets. */
const placesMax = 20;
