import { stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { answering, call, callAgent, filesWith, say, when } from "./support/agents-world.ts";
import { agentWorld, turn } from "./support/whole-agent.ts";

const model = "claude-sonnet-5-5";

const lines = Array.from({ length: 4_000 }, (_, at) => `line ${at}: the quick brown fox #${at}`);

describe("19. Writers: what agents have in common", () => {
  it("five agents that get the same large result keep one blob", async () => {
    const world = await agentWorld({
      responder: answering(
        when("LARGE", call("bash", { command: "cat large.txt" })),
        when("agent_report", say("All have reported.")),
        when("tool_result", say("I have read it.")),
        when(
          "Begin",
          ...Array.from({ length: 5 }, () => callAgent({ type: "general", description: "read", prompt: "LARGE" })),
        ),
      ),
    });
    await writeFile(join(world.work, "large.txt"), `${lines.join("\n")}\n`);
    const agent = await world.open({ kind: "new" }, model);
    await turn(agent, "Begin");
    expect(agent.agents?.list().map(({ usage }) => usage.calls)).toEqual([1, 1, 1, 1, 1]);
    await agent.close();
    const holders = await filesWith(join(world.home, "projects"), "line 2000: the quick");
    expect(holders.filter((path) => path.includes("/blobs/"))).toHaveLength(1);
    // Each agent has a name of its own for it, which takes no room.
    expect(holders.filter((path) => path.includes("/tool-results/"))).toHaveLength(5);
    expect(holders).toHaveLength(6);
    const inodes = await Promise.all(holders.map(async (path) => (await stat(path)).ino));
    expect(new Set(inodes).size).toBe(1);
  });
});
