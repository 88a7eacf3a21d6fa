import { describe, expect, it } from "vitest";
import { type CompactingAgent, compactingWorld } from "../../../../../test/fixture/compacting.ts";
import { append, reply, text } from "../../../../../test/fixture/session.ts";
import { createWorkingState, type WorkingStatePart } from "../../ports/working-state.ts";
import type { BoundaryMetadata } from "../../schema/edit.ts";

async function metadataBehind(agent: CompactingAgent): Promise<BoundaryMetadata> {
  const { value } = await agent.compact();
  if (value.kind !== "committed") throw new Error(value.message);
  const edit = agent.session.fold.projection.boundaries.at(-1)?.edit;
  if (edit?.type !== "boundary") throw new Error("no boundary");
  return edit.metadata;
}

describe("what a boundary says of itself", () => {
  it("counts messages, not entries: a reply that was written in parts is one", async () => {
    const world = compactingWorld();
    const agent = await world.agent("create");
    world.script.left = 2;
    await agent.turn("FIRST: look at the files.");
    await append(agent.session, reply("parts", text("One.")), reply("parts", text("Two.")));
    const { messages } = agent.session.view();
    expect(agent.session.fold.projection.items.length).toBeGreaterThan(messages.length);
    expect((await metadataBehind(agent)).messagesSummarized).toBe(messages.length);
  });

  it("holds what its calls cost as the cost ledger booked it, and none where no price is known", async () => {
    const world = compactingWorld();
    const agent = await world.agent("create");
    world.script.left = 2;
    await agent.turn("FIRST: look at the files.");
    const { totalNanos: before } = agent.conversation.costs.toJSON().session;
    const { costNanos } = await metadataBehind(agent);
    expect(costNanos).toBeGreaterThan(0);
    expect(costNanos).toBe(agent.conversation.costs.toJSON().session.totalNanos - before);
    const other = compactingWorld();
    const unpriced = await other.agent("create", { parts: { known: undefined } });
    other.script.left = 2;
    await unpriced.turn("FIRST: look at the files.");
    expect(await metadataBehind(unpriced)).not.toHaveProperty("costNanos");
  });
});

const large: WorkingStatePart = {
  name: "todos",
  stability: 80,
  snapshot: ({ budgets }) =>
    Promise.resolve({
      kind: "state",
      pieces: [{ title: "todos", text: "A long list. ".repeat(20_000) }],
      budget: budgets.other,
    }),
};

describe("what has no room behind a boundary", () => {
  it.each<[string, string | undefined, RegExp]>([
    ["is named with the tool that brings it back", "recall", /recall [0-9a-f]{64}/],
    ["names no tool that the model does not have", undefined, /(?<!recall )[0-9a-f]{64}/],
  ])("%s", async (_, recallTool, handle) => {
    const world = compactingWorld();
    const agent = await world.agent("create", {
      compacting: { recallTool, workingState: createWorkingState([large]) },
    });
    world.script.left = 9;
    await agent.turn("FIRST: look at the files.");
    await metadataBehind(agent);
    const shown = JSON.stringify(agent.session.view().messages);
    expect(shown).toMatch(handle);
    expect(shown.includes("recall")).toBe(recallTool !== undefined);
  });
});
