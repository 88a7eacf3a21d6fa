import process from "node:process";
import { sessionId } from "palimpsest/internal/schema/brand";
import { openDemoAgent, createDemoPlace } from "./open-demo-agent.ts";
import { watchTask } from "./script.ts";
import { createScriptedModel } from "./scripted-model.ts";

// A process of its own: it continues the demo's session, reports when its call runs, and waits to be killed.
const [home, cwd, id] = process.argv.slice(2);
if (home === undefined || cwd === undefined || id === undefined)
  throw new Error("usage: killed-turn <home> <cwd> <id>");
const model = createScriptedModel();
const session = { kind: "resume", id: sessionId(id) } as const;
const agent = await openDemoAgent({ place: createDemoPlace(home, cwd), model, session, mode: "manual" });
const task = watchTask();
model.startTask(task);
for await (const event of agent.turn(task.says, new AbortController().signal))
  if (event.kind === "call-start") process.send?.("calling");
