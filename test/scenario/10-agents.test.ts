import { describe, expect, it, vi } from "vitest";
import type { Agent } from "../../packages/cli/src/agent/agent.ts";
import { tokens } from "../../packages/palimpsest/src/schema/brand.ts";
import { undo } from "../../packages/palimpsest/src/session/undo.ts";
import { answering, call, callAgent, say, when, withSummaries } from "./support/agents-world.ts";
import { compact } from "./support/compaction-world.ts";
import { type AgentWorld, agentWorld, refused, turn } from "./support/whole-agent.ts";

const model = "claude-sonnet-5-5";

const bytesShown = ({ session }: Agent): string => JSON.stringify(session.view().messages);

/** A session with an agent that has ended and one that runs until it is stopped. */
async function withAgents(): Promise<{ readonly world: AgentWorld; readonly agent: Agent }> {
  const world = await agentWorld({
    responder: withSummaries(
      answering(
        when("SLEEP", call("bash", { command: "sleep 303" })),
        when("LOOK", say("looked")),
        when(
          "Begin",
          callAgent({ type: "general", name: "quick", description: "look around", prompt: "LOOK" }),
          callAgent({ type: "general", name: "long", description: "sleep on it", prompt: "SLEEP", background: true }),
        ),
        (input) => (input.includes("Chat") ? [say("Much was said about the harbour. ".repeat(300))] : undefined),
      ),
    ),
  });
  const agent = await world.open({ kind: "new" }, model);
  for (const text of ["Chat one", "Chat two", "Begin", "Chat three"]) await turn(agent, text);
  const runs = () => agent.agents?.list() ?? [];
  await vi.waitFor(() => expect(runs().map(({ usage }) => usage.calls)).toEqual([0, 1]), 5_000);
  return { world, agent };
}

describe("10. Working state: agents", () => {
  it("running and just finished agents are told again behind a boundary, as they are at that instant, once", async () => {
    const { world, agent } = await withAgents();
    const [quick, long] = agent.agents?.list() ?? [];
    expect((await compact(agent)).committed.kind).toBe("committed");
    await turn(agent, "What runs?");
    const sent = JSON.stringify(world.seen.at(-1)?.body["messages"]);
    expect(sent.split(`- long (general, ${long?.id}; sleep on it) runs in the background`)).toHaveLength(2);
    const ended = `- quick (general, ${quick?.id}; look around) has ended (answered): recall ${quick?.id} gives`;
    expect(sent.split(ended)).toHaveLength(2);
    await agent.agents?.stop(long?.id ?? never());
    expect((await compact(agent)).committed.kind).toBe("committed");
    await turn(agent, "And now?");
    const later = JSON.stringify(world.seen.at(-1)?.body["messages"]);
    expect(later).not.toContain("runs in the background");
    expect(later).toContain(`- long (general, ${long?.id}; sleep on it) has ended (stopped)`);
    expect(refused(world.seen)).toEqual([]);
    await agent.close();
  });
});

describe("13. Receipts and undo: with running agents", () => {
  it("a compaction has its receipt and leaves them running; undone, the view is byte-identical, and the report comes once behind it", async () => {
    const { world, agent } = await withAgents();
    const before = bytesShown(agent);
    const { committed } = await compact(agent);
    if (committed.kind !== "committed") throw new Error(committed.message);
    expect(agent.agents?.list()[1]?.state.kind).toBe("running");
    expect((await undo(agent.session, undoOptions)).kind).toBe("undone");
    expect(bytesShown(agent)).toBe(before);
    const long = agent.agents?.list()[1];
    expect(long?.state.kind).toBe("running");
    await agent.agents?.stop(long?.id ?? never());
    await turn(agent, "Chat four");
    await turn(agent, "Chat five");
    const sent = JSON.stringify(world.seen.at(-1)?.body["messages"]);
    expect(sent.split(`(\\"general\\", ${long?.id}) was stopped`).length - 1).toBe(1);
    const shown = agent.session.view().messages;
    expect(JSON.stringify(shown).startsWith(before.slice(0, -3))).toBe(true);
    expect(refused(world.seen)).toEqual([]);
    await agent.close();
  });
});

const undoOptions = { mode: "path", blockingTokens: tokens(1e9), thinking: "free" } as const;

function never(): never {
  throw new Error("there is no agent");
}
