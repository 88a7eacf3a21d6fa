import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { WireMessage } from "palimpsest/internal/schema/wire/messages-request";
import type { ToolChange, WireTool } from "palimpsest/internal/schema/wire/wire-tool";
import { ToolSet, toolsAtEnd, toolSteps } from "./tool-set.ts";

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
