import { expect, it, vi } from "vitest";
import type { Agent } from "../../packages/cli/src/agent/agent.ts";
import { listMemoryWork } from "../../packages/palimpsest/src/context/past-costs.ts";
import { listRewindPoints } from "../../packages/palimpsest/src/session/undo.ts";
import { backgroundResponder, forksIn } from "./support/background-world.ts";
import { agentWorld, turn } from "./support/whole-agent.ts";

const rule = "Always run the linter before you commit.";
const push = "Never push to main without asking me.";

async function createWorld() {
  const world = await agentWorld({ responder: backgroundResponder({}) }, { PALIMPSEST_FLAG_EXTRACTION: "1" });
  const agent: Agent = await world.open({ kind: "new" }, "claude-sonnet-5-5");
  const forks = () => forksIn(world.seen);
  const extracted = async (count: number): Promise<void> => {
    await vi.waitFor(() => expect(forks()).toHaveLength(count), 5_000);
    await vi.waitFor(() => expect(agent.aside().extraction).toBe("idle"), 5_000);
  };
  return { agent, forks, extracted };
}

it("an extraction of the terminal agent reads the conversation from its cache: 95 % of it and more", async () => {
  const { agent, extracted } = await createWorld();
  await turn(agent, "Look at the project.");
  const events = await turn(agent, rule);
  await extracted(1);
  const usage = events.flatMap((event) => (event.kind === "reply-end" ? [event.usage] : [])).at(-1);
  const { cacheRead = 0, cacheWrite = 0 } = usage ?? {};
  const [work] = listMemoryWork(agent.session.fold.path.everyBranch);
  const [call] = work?.calls ?? [];
  expect(cacheRead + cacheWrite).toBeGreaterThan(1_000);
  expect(call?.usage["cache_read_input_tokens"]).toBeGreaterThanOrEqual(0.95 * (cacheRead + cacheWrite));
  await agent.close();
});

it("after a rewind only what is new is looked at, and what was taken back never is", async () => {
  const { agent, forks, extracted } = await createWorld();
  await turn(agent, rule);
  await extracted(1);
  await turn(agent, push);
  await extracted(2);
  await turn(agent, "Show me the wombat.");
  const [newest] = listRewindPoints(agent.session);
  if (newest === undefined) throw new Error("nothing was said");
  expect((await agent.context.view.rewind(newest.id)).kind).toBe("rewound");
  await turn(agent, "Show me the readme.");
  await agent.stopAside();
  await agent.close();
  const begins = forks().map(({ body }) => /that begins \\"(.*?)\\"/.exec(JSON.stringify(body))?.[1]);
  expect(begins).toEqual([rule, push, "Show me the readme."]);
});
