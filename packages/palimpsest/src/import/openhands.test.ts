import { describe, expect, it } from "vitest";
import { imported, importFixture } from "../../../../test/fixture/imported.ts";
import { openhands } from "./openhands.ts";

describe("OpenHands trajectories", () => {
  it("of events: actions of one response are one reply, a condensation is a boundary or a snip", () => {
    const session = imported(openhands, importFixture("openhands-events.json"));
    expect(session.problems).toEqual([]);
    expect(session.saidBefore).toEqual([
      "user: Weave a rug | (image)",
      'assistant: Both at once. | execute_bash#w1{"command":"ls"} | execute_bash#w2{"command":"pwd"}',
      "user: w1→wool | !w2→no loom",
      'assistant: The plan. | read#action_7{"path":"plan.txt"}',
      "user: action_7→red, blue",
    ]);
    expect(session.said).toEqual([
      "user: Wool is there, a loom is not. | Weave a rug | (image) | Go on",
      "assistant: Done",
    ]);
    expect(session.noted).toEqual({ compacted: 2, "no-model": 2, "no-usage": 2, "system-prompt-aside": 1 });
  });

  it("of messages: several conversations in a file are branches, and the last is shown", () => {
    const session = imported(openhands, importFixture("openhands-messages.jsonl"));
    expect(session.problems).toEqual([]);
    expect(session.said).toEqual([
      "user: Dye wool",
      'assistant: dye#d1{"colour":"red"}',
      "user: d1→red wool",
      "assistant: finish#d2{}",
      "user: !d2→[The call was interrupted: no result was recorded.]",
    ]);
    expect(session.view.path.aside).toBe(2);
    expect(session.noted).toMatchObject({ "other-conversation": 1, "call-without-result": 1, "no-timestamp": 7 });
  });
});
