import { describe, expect, it } from "vitest";
import { type CompactingAgent, compactingWorld, summaryRequests } from "../../../../../test/fixture/compacting.ts";
import { append, reply, text } from "../../../../../test/fixture/session.ts";
import { CostLedger } from "../../cache/cost-ledger.ts";
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

const namedPart = (name: string, stability: number): WorkingStatePart => ({
  name,
  stability,
  snapshot: ({ budgets }) =>
    Promise.resolve({ kind: "state", pieces: [{ title: name, text: `RESTORED ${name}.` }], budget: budgets.other }),
});

describe("what is restored", () => {
  it.each<[string, readonly string[]]>([
    ["palimpsest", ["tools", "mcp", "plan", "todos", "files"]],
    ["claude-code-2026", ["files", "todos", "plan", "tools", "mcp"]],
  ])("stands in the order of the policy: %s", async (policy, expected) => {
    const world = compactingWorld();
    const parts = ["tools", "mcp", "plan", "todos", "files"].map((name, at) => namedPart(name, at));
    const agent = await world.agent("create", {
      flags: [["policy", policy]],
      compacting: { workingState: createWorkingState(parts) },
    });
    world.script.left = 2;
    await agent.turn("FIRST: look at the files.");
    await metadataBehind(agent);
    const shown = JSON.stringify(agent.session.view().messages);
    expect(Array.from(shown.matchAll(/RESTORED (\w+)/g), ([, name]) => name)).toEqual(expected);
  });
});

describe("the model that writes the summary", () => {
  it.each<[string, readonly (readonly [string, string])[], string]>([
    ["is the conversation's own", [["policy", "claude-code-2026"]], "claude-sonnet-5"],
    ["is the small fast one where the policy says so", [["policy", "claude-code-2.0"]], "claude-haiku-5-5"],
    [
      "is the one of the settings",
      [
        ["policy", "claude-code-2.0"],
        ["summary-model", "claude-haiku-4-5"],
      ],
      "claude-haiku-4-5",
    ],
  ])("%s, and is paid at its own price", async (_, flags, model) => {
    const world = compactingWorld();
    const agent = await world.agent("create", { flags });
    world.script.left = 2;
    await agent.turn("FIRST: look at the files.");
    const { calls = [], costNanos } = await metadataBehind(agent);
    expect(summaryRequests(world.seen).map(({ body }) => body["model"])).toEqual([model]);
    expect(calls.map((call) => call.model)).toEqual([model]);
    expect(costNanos).toBe(calls.reduce((sum, call) => sum + new CostLedger().priceOf(call), 0));
    expect(agent.conversation.costs.toJSON().byModel[model]?.requests).toBeGreaterThan(0);
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
