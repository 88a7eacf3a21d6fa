import process from "node:process";
import { sessionId } from "palimpsest/internal/schema/brand";
import { isObject, parseJson, textField } from "palimpsest/internal/schema/json";
import { openDemoAgent, createDemoPlace } from "./open-demo-agent.ts";
import { windowTokens } from "./limits.ts";
import { watchTask } from "./script.ts";
import { createScriptedModel } from "./scripted-model.ts";

/** A process of its own that goes on with the demo's session, says when its call runs, and waits to be killed. */
const childInput = parseJson(process.argv[2] ?? "");
const [home, cwd, id] = ["home", "cwd", "session"].map((name) =>
  isObject(childInput) ? textField(childInput, name) : undefined,
);
if (home === undefined || cwd === undefined || id === undefined)
  throw new Error("what is to be gone on with is missing");
const model = createScriptedModel();
const session = { kind: "resume", id: sessionId(id) } as const;
const agent = await openDemoAgent({
  place: createDemoPlace(home, cwd),
  model,
  session,
  policy: "palimpsest",
  windowTokens,
  automatic: "off",
});
const task = watchTask();
model.startTask(task);
for await (const event of agent.turn(task.says, new AbortController().signal))
  if (event.kind === "call-start") process.send?.("calling");
