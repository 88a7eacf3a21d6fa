import { getPreset, presetNames } from "palimpsest/policy";
import { Fold } from "palimpsest/internal/transcript/fold";
import { readLines } from "palimpsest/internal/transcript/read-lines";

/** What a page would do with a transcript: read its lines, project them, and look at a policy. It needs no Node. */
const lines = [
  { type: "user", uuid: "u1", parentUuid: null, message: { content: "Fix the failing test" } },
  {
    type: "assistant",
    uuid: "a1",
    parentUuid: "u1",
    message: { id: "m1", content: [{ type: "tool_use", id: "t1", name: "Read", input: {} }] },
  },
  {
    type: "user",
    uuid: "u2",
    parentUuid: "a1",
    message: { content: [{ type: "tool_result", tool_use_id: "t1", content: "a long text" }] },
  },
  { type: "clear", uuid: "c1", parentUuid: "u2", cause: "asked", results: [{ toolUse: "t1", shown: "[cleared]" }] },
];
const bytes = new TextEncoder().encode(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
const fold = new Fold();
fold.appendAll(readLines({ bytes, start: 0 }).logged);
const seen = JSON.stringify(fold.view().messages);
const outcome = {
  roles: fold
    .view()
    .messages.map(({ role }) => role)
    .join(),
  cleared: seen.includes("[cleared]") && !seen.includes("a long text"),
  presets: presetNames.length,
  policy: getPreset("palimpsest").name,
};
Reflect.set(globalThis, "palimpsestOutcome", JSON.stringify(outcome));
