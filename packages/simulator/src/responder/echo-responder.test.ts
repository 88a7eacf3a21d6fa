import { expect, it } from "vitest";
import { answers, assistantSays, calls, requestOf, said, tool, userSays } from "../../../../test/fixture/scene.ts";
import { echoMove } from "./echo-responder.ts";

it.each<[string, string | readonly object[], string]>([
  ["quotes the last user text", "Fix the test", "You wrote: “Fix the test”"],
  [
    "quotes only the beginning of a long one",
    "one two three four five six seven eight nine ten eleven twelve thirteen",
    "You wrote: “one two three four five six seven eight nine ten eleven twelve …”",
  ],
  [
    "leaves out what a client put in by itself",
    [userSays("Go on", "<system-reminder>\nnobody said this\n</system-reminder>")],
    "You wrote: “Go on”",
  ],
  [
    "looks back past results",
    [userSays("Read it"), assistantSays(calls("t1", "read", {})), answers("t1", "content")],
    "You wrote: “Read it”",
  ],
  [
    "says so where there are no words",
    [userSays("<system-reminder>x</system-reminder>")],
    "There are no words to answer here.",
  ],
])("%s", (_, messages, expected) => {
  expect(said(echoMove(requestOf(messages)))).toBe(expected);
});

const schema = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] };

it.each<[string, object, string]>([
  ["calls the tool that it must", { tool_choice: { type: "tool", name: "write" } }, 'write({"path":""})'],
  ["calls the first tool where any will do", { tool_choice: { type: "any" } }, 'read({"path":""})'],
  ["talks where no tool must be called", { tool_choice: { type: "auto" } }, "You wrote: “Go”"],
  ["says JSON where it must", { output_config: { format: { type: "json_schema", schema } } }, '{"ok":false}'],
  [
    "calls rather than says it",
    { tool_choice: { type: "any" }, output_config: { format: { type: "json_schema", schema } } },
    'read({"path":""})',
  ],
])("%s", (_, more, expected) => {
  const tools = [tool("read", ["path"]), tool("write", ["path", "text"], ["path"])];
  expect(said(echoMove(requestOf("Go", { tools, ...more })))).toBe(expected);
});
