import { describe, expect, it } from "vitest";
import { compactingWorld, type AgentWishes } from "../../../test/fixture/compacting.ts";
import type { ModelPort } from "../../ports/model.ts";
import type { LoopEvent } from "../../schema/event.ts";
import { runTurn } from "./turn.ts";

/** A turn whose first replies break off where the provider's window ends. */
async function cutOff(times: number, flags: AgentWishes["flags"] = []): Promise<readonly LoopEvent[]> {
  const world = compactingWorld();
  const agent = await world.agent("create", { flags });
  world.script.left = 4;
  await agent.turn("Look at the files.");
  const { model } = agent.deps;
  let sent = 0;
  const send: ModelPort["send"] = async function* (request, signal) {
    sent += 1;
    const isCut = sent <= times;
    for await (const event of model.send(request, signal))
      yield event.kind === "reply-end" && isCut ? { ...event, stopReason: "model_context_window_exceeded" } : event;
  };
  const events: LoopEvent[] = [];
  const { signal } = new AbortController();
  const deps = { ...agent.deps, model: { ...model, send } };
  for await (const event of runTurn(deps, { ...agent, text: "Go on.", signal })) events.push(event);
  return events;
}

/** Of compactions that were tried. */
const causesIn = (events: readonly LoopEvent[]): readonly string[] =>
  events.flatMap((event) => (event.kind === "compaction-start" ? [event.cause] : []));

describe("a reply that breaks off where the provider's window ends", () => {
  it.each<{ what: string; times: number; flags?: AgentWishes["flags"]; causes: readonly string[]; reason: string }>([
    { what: "is asked for again behind a summary", times: 1, causes: ["overflow"], reason: "answered" },
    { what: "the second time in a row is told", times: 2, causes: ["overflow"], reason: "over-limit" },
    {
      what: "is told at once where reactive compaction is off",
      times: 1,
      flags: [["off", "compact.reactive"]],
      causes: [],
      reason: "over-limit",
    },
    {
      what: "is asked for again where only automatic compaction is off, as a request is that was too long",
      times: 1,
      flags: [["off", "compact.auto"]],
      causes: ["overflow"],
      reason: "answered",
    },
  ])("$what", async ({ times, flags, causes, reason }) => {
    const events = await cutOff(times, flags);
    expect(causesIn(events)).toEqual(causes);
    expect(events.at(-1)).toMatchObject({ kind: "turn-end", reason });
  });
});
