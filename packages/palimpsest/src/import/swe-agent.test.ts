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

  it("answer every call of a reply, whether one message or the last step holds the output of all", () => {
    const call = (id: string) => ({ id, type: "function", function: { name: "bash", arguments: "{}" } });
    const trajectory = [
      { action: "ls", observation: "found" },
      { action: "cat", observation: "the end" },
    ];
    const history = [
      { role: "user", content: "Look" },
      { role: "assistant", content: "", tool_calls: [call("a"), call("b"), call("c")] },
      { role: "tool", content: "found", tool_call_ids: ["a", "b", "c"] },
      { role: "assistant", content: "", tool_calls: [call("d"), call("e")] },
    ];
    const session = imported(sweAgent, JSON.stringify({ trajectory, history }));
    expect(session.problems).toEqual([]);
    const shared = "(The output is in the result of another call of the same reply.)";
    expect(session.said.filter((message) => message.startsWith("user"))).toEqual([
      "user: Look",
      `user: a→found | b→${shared} | c→${shared}`,
      `user: d→the end | e→${shared}`,
    ]);
    expect(session.noted).not.toHaveProperty("call-without-result");
  });
});
