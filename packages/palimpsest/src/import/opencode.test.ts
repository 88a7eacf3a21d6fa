import { describe, expect, it } from "vitest";
import { imported, importFixture } from "../../../../test/fixture/imported.ts";
import { opencode } from "./opencode.ts";

describe("opencode exports", () => {
  const session = imported(opencode, importFixture("opencode.json"));

  it("pair by part, split replies at steps, and clear what was pruned", () => {
    expect(session.problems).toEqual([]);
    expect(session.saidBefore).toEqual([
      "user: Count the pens | (image)",
      'assistant: read#REDACTED{"path":"shelf A"} | read#REDACTED-2{"path":"torn"} | read#REDACTED-3{"path":"shelf B"} | bash#o3{}',
      "user: REDACTED→[Old tool result content cleared] | !REDACTED-2→[The call was interrupted: no result was recorded.] | REDACTED-3→shelf B | !o3→denied",
      'assistant: One more. | read#o4{"path":"shelf C"}',
      "user: o4→shelf C",
      "assistant: 30 pens.",
      "user: And the ink?",
      'assistant: None. | read#o5{"path":"x"}',
      "user: !o5→[The call was interrupted: no result was recorded.]",
    ]);
  });

  it("keep a pruned output in the log and clear it at the moment it was pruned", () => {
    const types = session.entries.map((entry) => entry["type"]);
    expect(types.indexOf("clear")).toBe(types.lastIndexOf("assistant") - 2);
    expect(JSON.stringify(session.entries)).toContain('"content":"shelf A"');
  });

  it("begin again at the summary of a compaction", () => {
    expect(session.said).toEqual([
      "user: Pens were counted: 30. | Continue. | The following tool was executed by the user",
    ]);
  });

  it("say what they do not carry", () => {
    expect(session.noted).toEqual({
      "call-id-changed": 2,
      "call-without-result": 2,
      cleared: 1,
      compacted: 1,
      "error-reply": 1,
      "file-without-data": 1,
      "no-usage": 1,
      "thinking-unsigned": 1,
    });
  });

  it("that are cut off are read as far as they go", () => {
    const whole = importFixture("opencode.json");
    const torn = imported(opencode, whole.slice(0, whole.indexOf("shelf C")));
    expect(torn.problems).toEqual([]);
    expect(torn.noted).toMatchObject({ damaged: 1 });
    expect(torn.said.slice(0, 2)).toEqual(session.saidBefore.slice(0, 2));
  });
});
