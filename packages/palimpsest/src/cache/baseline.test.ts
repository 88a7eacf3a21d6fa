import { describe, expect, it } from "vitest";
import type { ToolDefinition } from "../tokens/fixed-part.ts";
import { type PrefixChange, diffFrozenParts, type FrozenParts, makeBaseline } from "./baseline.ts";

const read: ToolDefinition = { name: "Read", description: "Reads a file." };
const edit: ToolDefinition = { name: "Edit", description: "Changes a file." };
const rules = { name: "rules", text: "Be brief." };
const file = { name: "AGENTS.md", text: "Use tabs." };

const parts: FrozenParts = {
  model: "claude-sonnet-5-5",
  thinking: { type: "adaptive" },
  betas: ["one"],
  tools: [read, edit],
  system: [rules, file],
};
const { thinking: _, ...withoutThinking } = parts;

describe("what would have changed in the prefix", () => {
  it.each<[string, FrozenParts, readonly PrefixChange[]]>([
    ["nothing", structuredClone(parts), []],
    [
      "the model",
      { ...parts, model: "claude-opus-5-5" },
      [{ kind: "model", before: "claude-sonnet-5-5", now: "claude-opus-5-5" }],
    ],
    ["thinking", withoutThinking, [{ kind: "thinking", before: { type: "adaptive" }, now: undefined }]],
    ["betas", { ...parts, betas: ["two"] }, [{ kind: "betas", added: ["two"], removed: ["one"] }]],
    [
      "a tool added",
      { ...parts, tools: [{ name: "Web" }, read, edit] },
      [{ kind: "tool-added", tool: { name: "Web" } }],
    ],
    ["a tool removed", { ...parts, tools: [edit] }, [{ kind: "tool-removed", name: "Read" }]],
    [
      "a tool's description",
      { ...parts, tools: [read, { ...edit, description: "New." }] },
      [{ kind: "tool-changed", tool: { name: "Edit", description: "New." } }],
    ],
    ["the order of tools", { ...parts, tools: [edit, read] }, [{ kind: "tools-reordered" }]],
    [
      "an instruction file",
      { ...parts, system: [rules, { ...file, text: "Use spaces." }] },
      [{ kind: "system-changed", piece: { name: "AGENTS.md", text: "Use spaces." }, before: "Use tabs." }],
    ],
    [
      "an instruction file more",
      { ...parts, system: [rules, file, { name: "sub/AGENTS.md", text: "x" }] },
      [{ kind: "system-added", piece: { name: "sub/AGENTS.md", text: "x" } }],
    ],
    ["an instruction file less", { ...parts, system: [rules] }, [{ kind: "system-removed", name: "AGENTS.md" }]],
    ["the order of pieces", { ...parts, system: [file, rules] }, [{ kind: "system-reordered" }]],
  ])("%s", (_name, now, changes) => expect(diffFrozenParts(makeBaseline(parts), now)).toEqual(changes));

  it("is told once where it is compared with what was told last", () => {
    const told = { ...parts, tools: [...parts.tools, { name: "Web" }] };
    expect(diffFrozenParts(told, structuredClone(told))).toEqual([]);
  });
});

describe("the baseline", () => {
  it("has a block for every piece with text", () => {
    const { systemBlocks } = makeBaseline({ ...parts, system: [rules, { name: "memory", text: "\n" }, file] });
    expect(systemBlocks).toEqual([
      { type: "text", text: "Be brief." },
      { type: "text", text: "Use tabs." },
    ]);
  });

  it("stays as it is where its maker goes on", () => {
    const tools = [read];
    const baseline = makeBaseline({ ...parts, tools });
    tools.push(edit);
    expect(baseline.tools).toEqual([read]);
  });
});
