import { text } from "palimpsest/internal/schema/json";
import type { MessagesRequest } from "palimpsest/internal/schema/wire/request";
import { pathOf } from "./facts.ts";
import { callsOf } from "./request-text.ts";

/** Three to five words on what the last call does, in the present tense. */
export function progressLine(request: MessagesRequest): string {
  const call = callsOf(request).at(-1);
  if (call === undefined) return "Thinking about the request";
  const verb = verbs.find(([form]) => form.test(call.name))?.[1] ?? "Using";
  const path = pathOf(call.input);
  if (path !== undefined) {
    const [file = path, folder] = path.split(/[\\/]/).filter(Boolean).toReversed();
    return folder === undefined ? `${verb} ${file} right now` : `${verb} ${file} in ${folder}`;
  }
  const object = text(call.input, "command") ?? text(call.input, "pattern") ?? text(call.input, "query") ?? call.name;
  const words = object.split(/\s+/).filter(Boolean).slice(0, objectWordsMax);
  return `${verb} ${words.join(" ")}${words.length < 2 ? " right now" : ""}`;
}

const objectWordsMax = 4;

const verbs: readonly (readonly [RegExp, string])[] = [
  [/read|view|cat|open/i, "Reading"],
  [/edit|replace|patch/i, "Editing"],
  [/write|create/i, "Writing"],
  [/grep|search|glob|find/i, "Searching"],
  [/fetch|browse/i, "Fetching"],
  [/bash|shell|exec|run/i, "Running"],
];
