import { describe, expect, it } from "vitest";
import { imported, importFixture } from "../../../../test/fixture/imported.ts";
import { pi } from "./pi.ts";

describe("pi sessions", () => {
  it("keep behind a compaction what it names, and tell of commands the user ran", () => {
    const session = imported(pi, importFixture("pi.jsonl"));
    expect(session.problems).toEqual([]);
    expect(session.saidBefore).toEqual([
      "user: Plant beans",
      'assistant: read#p1{"path":"beds"} | read#p2{"path":"seeds"}',
      "user: p1→two beds | !p2→none | Then peas",
      "assistant: Peas planted.",
    ]);
    expect(session.said).toEqual([
      "user: Beans wanted. | Then peas",
      "assistant: Peas planted.",
      "user: Ran `ls`⏎```⏎peas⏎```⏎⏎Command exited with code 1 | Look | (image)",
    ]);
    expect(session.noted).toEqual({ compacted: 1, "error-reply": 1, "no-usage": 1, "record-left-out": 1 });
  });

  it("that are trees stay trees: the view follows the last record", () => {
    const tree = imported(pi, importFixture("pi-tree.jsonl"));
    expect(tree.problems).toEqual([]);
    expect(tree.saidBefore).toEqual(["user: Root", "assistant: Second try", "user: The first try failed."]);
    expect(tree.said).toEqual(["user: Tried twice. | The first try failed. | A hint | Go on"]);
    expect(tree.view.path.aside).toBe(1);
  });

  it("keep signatures and the provider's own figures", () => {
    const reply = imported(pi, importFixture("pi.jsonl")).entries.find((entry) => entry["type"] === "assistant");
    expect(reply?.["message"]).toMatchObject({
      model: "loaf-1",
      content: [{ type: "thinking", signature: "signed" }, {}, {}],
      usage: { input_tokens: 5, cache_read_input_tokens: 10, cache_creation_input_tokens: 20, output_tokens: 2 },
    });
  });
});
