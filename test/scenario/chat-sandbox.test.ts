import { expect, test } from "vitest";
import { sandboxNotice } from "../../packages/cli/src/chat/chat-host.ts";
import type { SandboxSearchOutcome } from "../../packages/palimpsest/src/ports/sandbox.ts";
import { itemsOf, openChat } from "./support/chat-world.ts";
import { playing, says } from "./support/simulated.ts";
import { type AgentWorld, agentWorld } from "./support/whole-agent.ts";

const none: SandboxSearchOutcome = { kind: "none", why: "bubblewrap is not installed", remedy: "install bubblewrap" };

/** What a chat shows when it opens, on a machine that has no sandbox. */
async function shownIn(world: AgentWorld) {
  const { front, left } = await openChat(world, {
    agent: { sandbox: none },
    deps: { notice: (agent) => sandboxNotice(agent.sandbox(), world.home) },
  });
  const shown = { items: itemsOf(front.state).join("\n"), sandbox: front.state?.status.sandbox };
  await left();
  return shown;
}

test("the first chat on a machine without a sandbox says so, with the remedy; the next ones only in the status line", async () => {
  const world = await agentWorld({ responder: playing(says("Hello.")) });
  const first = await shownIn(world);
  expect(first.items).toContain("There is no sandbox on this machine (bubblewrap is not installed)");
  expect(first.items).toContain("To have one, install bubblewrap.");
  expect(first.sandbox).toBe("none");
  const next = await shownIn(world);
  expect(next.items).not.toContain("sandbox");
  expect(next.sandbox).toBe("none");
});

test("every chat in which no command will run for want of a sandbox says so", async () => {
  const world = await agentWorld({ responder: playing(says("Hello.")) }, { PALIMPSEST_SANDBOX: "required" });
  for (let chats = 0; chats < 2; chats += 1)
    expect((await shownIn(world)).items).toContain("No command runs: you require a sandbox");
});
