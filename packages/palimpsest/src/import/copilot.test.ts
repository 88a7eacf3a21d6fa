import { describe, expect, it } from "vitest";
import { imported, importFixture } from "../../../../test/fixture/imported.ts";
import { copilot } from "./copilot.ts";

describe("Copilot CLI logs", () => {
  const session = imported(copilot, importFixture("copilot.jsonl"));

  it("read as what was sent, sub-agents apart", () => {
    expect(session.problems).toEqual([]);
    expect(session.saidBefore).toEqual([
      "user: <now>noon</now>⏎Patch the hull",
      'assistant: bash#k1{"command":"ls"} | task#k2{"prompt":"find tar"}',
      "user: !k1→no shell | k2→in the shed | A shell ended.",
      "assistant: Patched.",
    ]);
    expect(session.said).toEqual(["user: The hull is patched. | Now the mast"]);
    expect(session.view.path.sidechain).toBe(1);
  });

  it("have token figures only where a version wrote them", () => {
    const replies = session.entries.filter((entry) => entry["type"] === "assistant");
    expect(replies.map((entry) => (entry["message"] as { usage?: object }).usage)).toEqual([
      { input_tokens: 30, cache_read_input_tokens: 60, cache_creation_input_tokens: 10, output_tokens: 9 },
      undefined,
      undefined,
    ]);
    expect(session.noted).toEqual({
      compacted: 1,
      "file-without-data": 1,
      "no-usage": 2,
      "record-left-out": 2,
      "system-prompt-aside": 1,
      "thinking-unreadable": 1,
      "thinking-unsigned": 2,
      "view-unknown": 1,
    });
  });
});
