import { describe, expect, it } from "vitest";
import { requestOf } from "../../../../test/fixture/scene.ts";
import { netToolChanges, countReferencedTools } from "../prompt/tool-set.ts";

const tool = (name: string, more: object = {}): object => ({ name, input_schema: { type: "object" }, ...more });
const named = (name: string): object => ({ type: "tool_reference", name });
const adds = (what: object): object => ({ type: "tool_addition", tool: what });
const removes = (what: object): object => ({ type: "tool_removal", tool: what });
const defined = (name: string, description = "new"): object => ({
  type: "tool_definition",
  definition: tool(name, { description }),
});
const mcp = { type: "mcp_toolset_reference", server_name: "files" };
const compaction = (...changes: readonly object[]): object => ({
  type: "compaction",
  content: "So far.",
  tool_changes: changes,
});

const requestWith = (...blocks: readonly object[]): Parameters<typeof netToolChanges>[0] =>
  requestOf(
    blocks.map((block) => ({ role: "system", content: [block] })),
    { tools: [tool("read"), tool("write"), tool("find", { defer_loading: true })] },
  );

describe("the tool changes of a compaction", () => {
  it.each<{ rule: string; blocks: readonly object[]; net: readonly object[] }>([
    { rule: "are none where nothing changed", blocks: [], net: [] },
    { rule: "hold a removal", blocks: [removes(named("write"))], net: [removes(named("write"))] },
    { rule: "hold no removal that was taken back", blocks: [removes(named("write")), adds(named("write"))], net: [] },
    { rule: "hold no addition of what is offered anyway", blocks: [adds(named("read"))], net: [] },
    { rule: "hold an addition that loads", blocks: [adds(named("find"))], net: [adds(named("find"))] },
    { rule: "hold a definition by value", blocks: [adds(defined("made"))], net: [adds(defined("made"))] },
    {
      rule: "hold the last definition of a name",
      blocks: [adds(defined("made")), adds(defined("made", "newer"))],
      net: [adds(defined("made", "newer"))],
    },
    {
      rule: "hold nothing of what was defined and withdrawn",
      blocks: [adds(defined("made")), removes(named("made"))],
      net: [],
    },
    {
      rule: "hold by value what was defined, withdrawn and named again",
      blocks: [adds(defined("made")), removes(named("made")), adds(named("made"))],
      net: [adds(defined("made"))],
    },
    {
      rule: "hold markers of none",
      blocks: [{ ...removes(named("write")), cache_control: { type: "ephemeral" } }],
      net: [removes(named("write"))],
    },
    {
      rule: "hold markers of no definition",
      blocks: [adds({ type: "tool_definition", definition: tool("made", { cache_control: { type: "ephemeral" } }) })],
      net: [adds({ type: "tool_definition", definition: tool("made") })],
    },
    { rule: "hold what concerns MCP servers as it was", blocks: [adds(mcp), removes(mcp)], net: [removes(mcp)] },
    {
      rule: "go on from those of a compaction before",
      blocks: [compaction(removes(named("write"))), removes(named("read"))],
      net: [removes(named("write")), removes(named("read"))],
    },
    {
      rule: "leave out what a compaction between stands for",
      blocks: [removes(named("read")), compaction(removes(named("write")))],
      net: [removes(named("write"))],
    },
  ])("$rule", ({ blocks, net }) => {
    expect(netToolChanges(requestWith(...blocks))).toEqual(net);
  });

  it("refer to a tool once, however often it is named, in results too", () => {
    const request = requestOf([
      { role: "system", content: [adds(named("a")), removes(named("a")), adds(defined("b")), adds(mcp)] },
      {
        role: "user",
        content: [
          {
            type: "tool_result",
            tool_use_id: "toolu_1",
            content: ["a", "c"].map((name) => ({ type: "tool_reference", tool_name: name })),
          },
        ],
      },
    ]);
    expect(countReferencedTools(request)).toBe(4);
  });
});
