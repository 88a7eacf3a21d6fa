import { expect, test } from "vitest";
import { called } from "./support/called.ts";
import { itemsOf, openChat } from "./support/chat-world.ts";
import { playing, says } from "./support/simulated.ts";
import { agentWorld } from "./support/whole-agent.ts";

test("in an idle plain chat the user is told of a message, and the model gets it with the next turn", async () => {
  const world = await agentWorld({ responder: playing(says("Done.")) });
  const { front, agents, chat } = await openChat(world);
  const session = agents[0]?.session.id ?? "";
  await called({ home: world.home, cwd: world.work }, "agents", "send", `bridge:${session}`, "Look at a.ts.");
  await front.until((state) => itemsOf(state).some((line) => line.includes("with your next message")));
  expect(itemsOf(front.state).join("\n")).toContain("Message from agents-send@palimpsest: Look at a.ts.");
  expect(world.seen).toHaveLength(0);
  chat.submit("Go on.");
  await chat.rest();
  expect(JSON.stringify(world.seen[0]?.body)).toContain("> Look at a.ts.");
});

test("an idle member of a team answers a message by itself, and a member that opens another session keeps its place", async () => {
  const world = await agentWorld({ responder: playing(says("Done.")) });
  const calling = { home: world.home, cwd: world.work };
  const { front, agents, chat } = await openChat(world, {
    agent: { team: { team: "docs", name: undefined, way: "chat" } },
  });
  await called(calling, "agents", "send", "leader", "First.");
  await front.until((state) => itemsOf(state).includes("text: Done."));
  expect(JSON.stringify(world.seen[0]?.body)).toContain("> First.");
  await chat.rest();
  chat.submit("/new");
  await front.until(() => agents.length === 2 && agents[1]?.mail?.membership !== undefined);
  await chat.rest();
  await called(calling, "agents", "send", "leader@docs", "Second.");
  await front.until(() => world.seen.length === 2);
  await chat.rest();
  const second = JSON.stringify(world.seen[1]?.body);
  expect(second).toContain("> Second.");
  expect(second).not.toContain("> First.");
});
