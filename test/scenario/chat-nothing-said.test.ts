import { globSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { openWorkspace } from "../../packages/cli/src/host/workspace.ts";
import { rewind, listRewindPoints } from "../../packages/palimpsest/src/session/undo.ts";
import { entryId } from "../../packages/palimpsest/src/schema/brand.ts";
import { openChat } from "./support/chat-world.ts";
import { playing, says } from "./support/simulated.ts";
import { type AgentWorld, agentWorld } from "./support/whole-agent.ts";

const listed = async ({ env, work }: AgentWorld): Promise<readonly string[]> =>
  (await openWorkspace({ env, cwd: work }).list("project")).map(({ sessionId }) => sessionId);

describe("a chat in which nothing was said", () => {
  it("leaves no session and no lock behind", async () => {
    const world = await agentWorld({ responder: playing() });
    const chat = await openChat(world);
    expect(await listed(world)).toHaveLength(1);
    await chat.left();
    expect(await listed(world)).toEqual([]);
    expect(globSync("projects/*/*-*-*-*-*", { cwd: world.home })).toEqual([]);
  });

  it("leaves none behind where another session is chosen from it, and the other stays", async () => {
    const world = await agentWorld({ responder: playing(says("Hello.")) });
    const first = await openChat(world, { message: "Hello." });
    await first.chat.rest();
    const id = first.chat.session;
    await first.left();
    const resumed = { kind: "open", session: { kind: "resume", id } } as const;
    const second = await openChat(world, { deps: { runSlash: async () => resumed } });
    second.chat.submit("/resume");
    await second.chat.rest();
    expect(await listed(world)).toEqual([id]);
    await second.left();
    expect(await listed(world)).toEqual([id]);
  });

  it("keeps its session where something was typed: it is found by that", async () => {
    const world = await agentWorld({ responder: playing() });
    const chat = await openChat(world);
    Object.assign(chat.front, { typed: "half a thou" });
    const { session } = chat.chat;
    await chat.left();
    expect(await listed(world)).toEqual([session]);
    const again = await openChat(world, { opening: { session: { kind: "resume", id: session }, flags: [] } });
    expect(again.front.refilled).toEqual(["half a thou"]);
  });

  it("keeps a session whose only message was taken back by going to another branch", async () => {
    const world = await agentWorld({ responder: playing(says("Hello.")) });
    const chat = await openChat(world, { message: "Hello." });
    await chat.chat.rest();
    const [agent] = chat.agents;
    if (agent === undefined) throw new Error("no agent");
    const [said] = listRewindPoints(agent.session);
    expect((await rewind(agent.session, said?.id ?? entryId("none"))).kind).toBe("rewound");
    expect(agent.session.fold.messages).toEqual([]);
    await chat.left();
    expect(await listed(world)).toEqual([chat.chat.session]);
  });
});
