import { describe, expect, it } from "vitest";
import { imported, importFixture } from "../../../../test/fixture/imported.ts";
import { sweAgent } from "./swe-agent.ts";

describe("SWE-agent trajectories", () => {
  it("keep calls apart that share an id, and take the last observation from the steps", () => {
    const session = imported(sweAgent, importFixture("swe-agent.traj"));
    expect(session.problems).toEqual([]);
    expect(session.said).toEqual([
      "user: Fix a.py",
      'assistant: List. | bash#s1{"command":"ls"}',
      "user: s1→a.py",
      'assistant: Read. | bash#s1-2{"command":"cat a.py"}',
      "user: s1-2→x = 1",
      "assistant: Submit. | submit#s1-3{}",
      "user: s1-3→patch",
    ]);
    expect(session.noted).toEqual({
      "call-id-changed": 2,
      "no-timestamp": 8,
      "no-usage": 3,
      "system-prompt-aside": 1,
      "view-unknown": 1,
    });
    expect(session.entries[0]).toMatchObject({ cwd: "/repo" });
  });

  it("with commands in the text show them as calls", () => {
    const session = imported(sweAgent, importFixture("swe-agent-text.traj"));
    expect(session.problems).toEqual([]);
    expect(session.said).toEqual([
      "user: A demonstration | Fix b.py",
      String.raw`assistant: List. | command#action_1{"command":"ls\n"}`,
      "user: action_1→b.py",
      String.raw`assistant: Done. | command#action_2{"command":"submit\n"}`,
      "user: action_2→(command completed with no output)",
    ]);
    expect(session.noted).toMatchObject({ "call-from-text": 2, "no-model": 2 });
  });
});
