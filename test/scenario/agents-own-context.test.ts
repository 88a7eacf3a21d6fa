import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import type { MessagesRequest } from "../../packages/palimpsest/src/schema/wire/messages-request.ts";
import { stopHooksMax } from "../../packages/palimpsest/src/loop/limits.ts";
import {
  allSent,
  answering,
  call,
  callAgent,
  filesWith,
  requestsWith,
  say,
  when,
  withSummaries,
  writeIn,
} from "./support/agents-world.ts";
import { agentWorld, blocksOf, refused, turn } from "./support/whole-agent.ts";

const model = "claude-sonnet-5-5";

const start = (type: string, prompt: string, more = {}) => callAgent({ type, description: "a part", prompt, ...more });

describe("an agent that runs past its window", () => {
  test.each([["general"], ["fork"]])(
    "%s: compacts its own conversation; nothing of its parent's changes, neither the log nor a byte of its next request",
    async (type) => {
      const asked: MessagesRequest[] = [];
      let reads = 0;
      const world = await agentWorld(
        {
          models: [{ id: model, windowTokens: 40_000 }],
          responder: withSummaries(
            answering(
              when("agent_report", say("It has read everything.")),
              when("Begin", start(type, "READ ALL")),
              (input) => {
                if (!input.includes("READ ALL") && !input.includes("tool_result") && !input.includes("summar"))
                  return undefined;
                reads += 1;
                if (reads === 2) return [call("todo", { todos: [{ content: "OWN-STEP", status: "in_progress" }] })];
                return reads > 16 ? [say("I have read them all.")] : [call("read", { path: `part-${reads % 12}.txt` })];
              },
            ),
            asked,
          ),
        },
        { PALIMPSEST_CONTEXT_TOKENS: "40000", PALIMPSEST_DURABILITY: "never" },
      );
      for (let part = 0; part < 12; part += 1)
        await writeFile(join(world.work, `part-${part}.txt`), `${`words of part ${part} `.repeat(90)}\n`.repeat(8));
      const agent = await world.open({ kind: "new" }, model);
      await turn(agent, "What we know: the harbour is deep.");
      const before = world.seen.length;
      await turn(agent, "Begin");
      expect(refused(world.seen)).toEqual([]);
      expect(agent.agents?.list()[0]?.state).toMatchObject({ how: "answered" });
      expect(asked.length).toBeGreaterThanOrEqual(1);
      // Behind its boundary stands its own list of tasks.
      const behind = world.seen.filter((seen) => JSON.stringify(seen.body).includes("The task list as it stands now:"));
      expect(behind.length).toBeGreaterThanOrEqual(1);
      for (const seen of behind) expect(JSON.stringify(seen.body)).toContain("OWN-STEP");
      expect(JSON.stringify(world.seen.at(-1)?.body)).not.toContain("OWN-STEP");
      const [first = never(), last = never()] = [world.seen[before], world.seen.at(-1)];
      const [asking, answered] = [blocksOf(first), blocksOf(last)];
      expect(answered.slice(0, asking.length)).toEqual(asking);
      const { id } = agent.session;
      await agent.close();
      const boundaries = await filesWith(join(world.home, "projects"), '"isCompactSummary":true');
      expect(boundaries).not.toEqual([]);
      expect(boundaries.filter((path) => path.endsWith(`${id}.jsonl`))).toEqual([]);
    },
  );
});

describe("money", () => {
  it("at the limit running agents end and new ones are refused, also going on, with a sentence that names the setting", async () => {
    const world = await agentWorld({
      responder: answering(
        when("WORK", call("bash", { command: "echo ticktock" })),
        when("ticktock", call("bash", { command: "echo ticktock" })),
        when("Begin", start("general", "WORK one", { name: "one" }), start("general", "WORK two", { name: "two" })),
        when("More", start("general", "WORK three")),
      ),
    });
    await writeIn(world.home, "settings.json", JSON.stringify({ agentDollarsMax: 0.02 }));
    const agent = await world.open({ kind: "new" }, model);
    await turn(agent, "Begin");
    const ended = agent.agents?.list().map(({ state }) => (state.kind === "ended" ? state.how : state.kind));
    expect(ended).toEqual(["limit", "limit"]);
    const told = allSent(world.seen.slice(-1));
    expect(told).toContain("was ended at a limit, and its report may be unfinished");
    expect(told).toContain("have spent what the user allows them (setting agentDollarsMax)");
    const dollars = (agent.context.conversation.costs.toJSON().bySource.agents?.totalNanos ?? 0) / 1e9;
    expect(dollars).toBeGreaterThanOrEqual(0.02);
    // At most what each of the running ones had already asked for.
    expect(dollars).toBeLessThan(0.02 + 2 * 0.02);
    await turn(agent, "More");
    expect(requestsWith(world.seen, "WORK three")).toEqual([]);
    expect(allSent(world.seen.slice(-1))).toContain("(setting agentDollarsMax). Go on without them.");
    const sent = await agent.agents?.send({ to: "one", text: "Go on", from: { kind: "user" } });
    expect(sent).toMatchObject({ kind: "refused" });
    await agent.close();
  });
});

describe("hooks", () => {
  const hook = (command: string) => [{ hooks: [{ type: "command", command }] }];

  it("SubagentStart adds to the task, and SubagentStop sends an agent back to work with its reason, once", async () => {
    const world = await agentWorld({
      responder: answering(
        when("SECOND LOOK", say("I looked again.")),
        when("WORK", say("I looked.")),
        when("Begin", start("explore", "WORK")),
      ),
    });
    const added = JSON.stringify({
      hookSpecificOutput: { hookEventName: "SubagentStart", additionalContext: "Mind the tide." },
    });
    const stop = `grep -q '"stop_hook_active": *true' && exit 0; echo "Take a SECOND LOOK" >&2; exit 2`;
    const hooks = {
      SubagentStart: hook(`echo '${added}'`),
      SubagentStop: hook(stop),
      Stop: hook("echo never >&2; exit 0"),
    };
    await writeIn(world.home, "settings.json", JSON.stringify({ hooks }));
    const agent = await world.open({ kind: "new" }, model);
    await turn(agent, "Begin");
    expect(requestsWith(world.seen, "Mind the tide.")).toHaveLength(1);
    expect(requestsWith(world.seen, "SECOND LOOK")).toHaveLength(1);
    const report = allSent(world.seen.slice(-1));
    expect(report).toContain("I looked again.");
    await agent.close();
  });

  it("a SubagentStop that always blocks is heard a bounded number of times", async () => {
    const world = await agentWorld({
      responder: answering(when("Once MORE", say("Again.")), when("Begin", start("general", "WORK"))),
    });
    const hooks = { SubagentStop: hook(`echo "Once MORE" >&2; exit 2`) };
    await writeIn(world.home, "settings.json", JSON.stringify({ hooks }));
    const agent = await world.open({ kind: "new" }, model);
    await turn(agent, "Begin");
    expect(requestsWith(world.seen, "Once MORE")).toHaveLength(stopHooksMax);
    expect(agent.agents?.list()[0]?.state).toMatchObject({ how: "answered" });
    await agent.close();
  });
});

function never(): never {
  throw new Error("there is nothing");
}
