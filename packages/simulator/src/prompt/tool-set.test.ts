import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { WireMessage } from "palimpsest/internal/schema/wire/messages-request";
import type { ToolChange, WireTool } from "palimpsest/internal/schema/wire/wire-tool";
import { ToolSet, toolsAtEnd, toolSteps, netToolChanges, countReferencedTools } from "./tool-set.ts";
import { requestOf } from "../../../../test/fixture/scene.ts";

const custom = (name: string, description = ""): WireTool => ({ name, description, input_schema: { type: "object" } });
const late = (name: string): WireTool => ({ ...custom(name), defer_loading: true });
const add = (name: string): ToolChange => ({ type: "tool_addition", tool: { type: "tool_reference", name } });
const remove = (name: string): ToolChange => ({ type: "tool_removal", tool: { type: "tool_reference", name } });
const define = (definition: WireTool): ToolChange => ({
  type: "tool_addition",
  tool: { type: "tool_definition", definition },
});

const betas = new Set(["inline-tools-2026-09-15"]);
const names = (tools: readonly WireTool[] | undefined): readonly string[] | undefined =>
  tools?.map(({ name }) => String(name));

describe("the tools of a conversation", () => {
  it("are those of `tools`, less and more by what was said", () => {
    const set = new ToolSet([custom("a"), custom("b")]);
    for (const change of [remove("a"), define(custom("c")), remove("b"), add("a")]) set.apply(change);
    expect(names(set.offered)).toEqual(["c", "a"]);
  });

  it("have the newest definition of a name, also when it comes back", () => {
    const set = new ToolSet([custom("a", "old")]);
    for (const change of [define(custom("a", "new")), remove("a"), add("a")]) set.apply(change);
    expect(set.offered).toEqual([custom("a", "new")]);
  });

  it("load a deferred one once", () => {
    const set = new ToolSet([late("a")]);
    const loaded = { ...custom("a"), defer_loading: false };
    expect(set.apply(add("a"))).toEqual({ kind: "loaded", tool: loaded });
    expect(set.offered).toEqual([loaded]);
    expect(set.apply(add("a"))).toEqual({ kind: "changed" });
  });

  it("load none that was defined meanwhile: its definition has been read", () => {
    const set = new ToolSet([late("a")]);
    set.apply(define(custom("a", "new")));
    expect(set.apply(add("a"))).toEqual({ kind: "changed" });
  });

  it("are left as they are by what is refused", () => {
    const set = new ToolSet([custom("a")]);
    expect(set.apply(add("b"))).toEqual({ kind: "unresolved", name: "b" });
    expect(set.apply(define({ type: "bash_20250124", name: "a" }))).toEqual({ kind: "conflict", name: "a" });
    expect(set.offered).toEqual([custom("a")]);
  });

  it("stay of one kind from version to version", () => {
    const set = new ToolSet([{ type: "bash_20241022", name: "bash" }]);
    expect(set.apply(define({ type: "bash_20250124", name: "bash" }))).toEqual({ kind: "changed" });
    expect(set.offered).toEqual([{ type: "bash_20250124", name: "bash" }]);
  });

  it("cost what they cost when counted anew, whatever happened to them", () => {
    const name = fc.constantFrom("a", "b", "c");
    const change = fc.oneof(
      name.map(add),
      name.map(remove),
      fc.tuple(name, fc.string()).map(([one, words]) => define(custom(one, words))),
    );
    fc.assert(
      fc.property(fc.array(change), fc.array(change), (first, then) => {
        const set = new ToolSet([custom("a"), late("b")]);
        for (const one of first) set.apply(one);
        void set.chars;
        for (const one of then) set.apply(one);
        expect(set.chars).toBe(set.offered.reduce((sum, tool) => sum + JSON.stringify(tool).length, 0));
        expect(set.size).toBe(set.offered.length);
      }),
    );
  });
});

describe("a compaction", () => {
  const compacted = (...changes: ToolChange[]): WireMessage => ({
    role: "assistant",
    content: [{ type: "compaction", content: "So far.", tool_changes: changes }],
  });
  const told = (...changes: ToolChange[]): WireMessage => ({ role: "system", content: changes });
  const tools = [custom("a"), custom("b")];

  it("stands for the changes before it, whether their messages are sent or not", () => {
    const short = { tools, messages: [compacted(remove("a"))] };
    const long = { tools, messages: [told(remove("b")), ...short.messages] };
    expect(names(toolsAtEnd(short, betas))).toEqual(["b"]);
    expect(names(toolsAtEnd(long, betas))).toEqual(["b"]);
  });

  it("that says nothing of tools leaves them as they were", () => {
    const silent: WireMessage = { role: "assistant", content: [{ type: "compaction", content: "So far." }] };
    expect(names(toolsAtEnd({ tools, messages: [told(remove("b")), silent] }, betas))).toEqual(["a"]);
  });

  it("tells where in it a change stands", () => {
    expect([...toolSteps({ tools, messages: [compacted(remove("x"))] })]).toMatchObject([
      { path: "messages.0.content.0.tool_changes.0", outcome: { kind: "unresolved", name: "x" } },
    ]);
  });

  it("changes nothing without a beta", () => {
    expect(toolsAtEnd({ tools, messages: [told(remove("a"))] }, new Set())).toBeUndefined();
  });
});

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
