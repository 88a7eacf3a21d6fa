import process from "node:process";
import { sessionId } from "palimpsest/internal/schema/brand";
import { isObject, parseJson, text } from "palimpsest/internal/schema/json";
import { demoAgent, placeIn } from "./demo-agent.ts";
import { windowTokens } from "./limits.ts";
import { waiting } from "./script.ts";
import { scriptedModel } from "./scripted-model.ts";

/** A process of its own that goes on with the demo's session, says when its call runs, and waits to be killed. */
const given = parseJson(process.argv[2] ?? "");
const [home, cwd, id] = ["home", "cwd", "session"].map((name) => (isObject(given) ? text(given, name) : undefined));
if (home === undefined || cwd === undefined || id === undefined)
  throw new Error("what is to be gone on with is missing");
const model = scriptedModel();
const session = { kind: "resume", id: sessionId(id) } as const;
const agent = await demoAgent({
  place: placeIn(home, cwd),
  model,
  session,
  policy: "palimpsest",
  windowTokens,
  automatic: "off",
});
const task = waiting();
model.take(task);
for await (const event of agent.turn(task.says, new AbortController().signal))
  if (event.kind === "call-start") process.send?.("calling");
