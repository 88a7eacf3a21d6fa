import { expect, it } from "vitest";
import { openWorkspace } from "../../packages/cli/src/host/workspace.ts";
import { teammateAddress } from "../../packages/palimpsest/src/schema/agent-address.ts";
import { taskId } from "../../packages/palimpsest/src/schema/brand.ts";
import { stopMember, type TeamMember, withMember } from "../../packages/palimpsest/src/schema/team.ts";
import { currentProcess, TeamStore } from "../../packages/cli/src/team/team-store.ts";
import { type ChatWorld, openChat } from "./support/chat-world.ts";
import { playing, says } from "./support/simulated.ts";
import { type AgentWorld, agentWorld } from "./support/whole-agent.ts";

const team = "docs";

function shownTexts({ front: { state } }: Pick<ChatWorld, "front">): string {
  const items = [...(state?.done ?? []), ...(state?.open ?? [])];
  return items
    .flatMap((item) => (item.kind === "notice" ? [item.text] : item.kind === "output" ? item.lines : []))
    .join("\n");
}

const setMember = async (world: AgentWorld, member: TeamMember): Promise<void> => {
  const store = new TeamStore(openWorkspace({ env: world.env, cwd: world.work }).home);
  await store.change(team, (record = { team, createdAt: 0, members: [] }) => ({
    record: withMember(record, member),
    answer: undefined,
  }));
};

const member = (world: AgentWorld, name: string): TeamMember => ({
  name,
  role: name === "leader" ? "leader" : "teammate",
  state: "working",
  way: "served",
  project: world.work,
});

it("a leader's chat says whose it is, counts teammates, and lists them and the tasks they share", async () => {
  const world = await agentWorld({ responder: playing(says("Yes.")) });
  const chat = await openChat(world, { agent: { team: { team, name: undefined, way: "chat" } } });
  await chat.chat.rest();
  expect(shownTexts(chat)).toContain("Team docs: you talk with its leader; no teammate runs yet.");
  const process = await currentProcess();
  await setMember(world, { ...member(world, "ann"), process });
  await setMember(world, { ...member(world, "ben"), process: { ...process, started: "another" } });
  await expect.poll(() => chat.front.state?.status.team, { timeout: 5_000 }).toBe("docs (leader) · 1 teammate");
  const tasks = chat.agents[0]?.mail?.membership?.tasks;
  const ann = teammateAddress("ann", team);
  await tasks?.create({ id: taskId("task-1"), subject: "Write the tests", createdBy: ann });
  await tasks?.create({ id: taskId("task-2"), subject: "Read the page", createdBy: ann });
  await tasks?.claim(taskId("task-2"), ann);
  chat.handlers.submit("/agents");
  await chat.chat.rest();
  expect(shownTexts(chat)).toMatch(/^ann  working · teammate, in\s/m);
  expect(shownTexts(chat)).toMatch(/^ben  died · teammate, in\s/m);
  chat.handlers.submit("/agents ann");
  await chat.chat.rest();
  expect(shownTexts(chat)).toMatch(/palimpsest agents attach\s+ann@docs/);
  chat.handlers.submit("/tasks");
  await chat.chat.rest();
  expect(shownTexts(chat)).toContain("task-1  open  Write the tests");
  expect(shownTexts(chat)).toContain("task-2  claimed by ann  Read the page");
});

it("a chat that has joined is told when its leader is gone, and when there is one again", async () => {
  const world = await agentWorld({ responder: playing(says("Yes.")) });
  const leader = { ...member(world, "leader"), process: await currentProcess() };
  await setMember(world, leader);
  const chat = await openChat(world, { agent: { team: { team, name: "cid", way: "chat" } } });
  await chat.chat.rest();
  expect(shownTexts(chat)).toContain("Team docs: you talk with cid.");
  await expect.poll(() => chat.front.state?.status.team, { timeout: 5_000 }).toBe("docs (cid)");
  await setMember(world, stopMember(leader));
  await expect.poll(() => shownTexts(chat), { timeout: 8_000 }).toContain("The leader of docs is gone.");
  expect(chat.front.state?.status.team).toBe("docs (cid) · no leader");
  await setMember(world, leader);
  await expect.poll(() => shownTexts(chat), { timeout: 5_000 }).toContain("docs has a leader again.");
}, 20_000);
