import { describe, expect, it } from "vitest";
import { imported, importFixture } from "../../../../test/fixture/imported.ts";
import { codex } from "./codex.ts";

describe("Codex rollouts", () => {
  const rollout = imported(codex, importFixture("codex.jsonl"));

  it("read as what the model saw, parallel calls in one reply", () => {
    expect(rollout.problems).toEqual([]);
    expect(rollout.saidBefore).toEqual([
      "user: <permissions instructions>Ask first. | <environment_context>⏎  <cwd>/home/ann/bakery</cwd> | How much flour is left?",
      'assistant: I will look. | exec_command#c1{"cmd":"cat flour.txt"} | exec_command#c2{"input":"not json"}',
      "user: c1→12 kg+image | c2→no such file",
      'assistant: apply_patch#c3{"input":"*** add a line"}',
      "user: c3→Done",
      "assistant: 12 kg.",
    ]);
  });

  it("begin again at the history that a compaction recorded", () => {
    expect(rollout.said).toEqual(["user: How much flour is left? | And sugar?", "assistant: 3 kg."]);
    expect(rollout.entries.find((entry) => entry["subtype"] === "compact_boundary")).toMatchObject({
      compactMetadata: { preTokens: 150 },
    });
  });

  it("have the counted tokens on every entry of a reply, the cached ones apart", () => {
    const usages = rollout.entries.flatMap((entry) => {
      const message = entry["message"] as {
        id?: string;
        usage?: { input_tokens: number; cache_read_input_tokens: number };
      };
      return message?.id === undefined ? [] : [[message.usage?.input_tokens, message.usage?.cache_read_input_tokens]];
    });
    expect(usages).toEqual([
      [60, 40],
      [60, 40],
      [60, 40],
      [60, 40],
      [30, 100],
      [20, 120],
      [60, 0],
      [60, 0],
    ]);
  });

  it("say what they do not carry", () => {
    expect(rollout.noted).toEqual({
      compacted: 1,
      damaged: 1,
      "input-not-json": 1,
      "instructions-as-user": 1,
      "record-left-out": 1,
      "summary-unreadable": 1,
      "system-prompt-aside": 1,
      "thinking-unreadable": 1,
      "thinking-unsigned": 2,
    });
    expect(rollout.notes.find((note) => note.kind === "damaged")?.detail).toBe("line 6 is not JSON");
    expect(rollout.entries[0]).toMatchObject({
      sessionId: "codex-session",
      cwd: "/home/ann/bakery",
      gitBranch: "rye",
      version: "0.1.0",
    });
  });

  it("of early versions have bare items, and keep people's words behind a summary", () => {
    const early = imported(codex, importFixture("codex-early.jsonl"));
    expect(early.problems).toEqual([]);
    expect(early.saidBefore).toEqual([
      "user: One",
      'assistant: shell#e1{"command":["ls"]}',
      'user: e1→{"output":"a","metadata":{"exit_code":0}}',
      'assistant: local_shell#e2{"type":"exec","command":["pwd"]}',
      "user: !e2→denied",
      "assistant: Two",
    ]);
    expect(early.said).toEqual(["user: They counted. | One | Three"]);
    expect(early.noted).toMatchObject({ "view-unknown": 1, "no-usage": 3, "no-model": 3 });
  });
});
