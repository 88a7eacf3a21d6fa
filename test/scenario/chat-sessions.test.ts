import { existsSync, globSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ChatCommandOutcome } from "../../packages/cli/src/chat/chat-command.ts";
import { openWorkspace } from "../../packages/cli/src/host/workspace.ts";
import type { SessionId } from "../../packages/palimpsest/src/schema/brand.ts";
import type { MoveBlock } from "../../packages/simulator/src/responder/responder.ts";
import type { PermissionMode } from "../../packages/cli/src/tool/permission/decide-permission.ts";
import { type ChatParts, type ChatWorld, itemsOf, openChat } from "./support/chat-world.ts";
import { playing, says } from "./support/simulated.ts";
import { type AgentWorld, agentWorld } from "./support/whole-agent.ts";

const within = { timeout: 10_000 };
const inMode = (mode: PermissionMode) => ({ tools: { mode, allow: [], deny: [] } });
const modeOf = ({ front }: ChatWorld): string | undefined => front.state?.status.mode;
const saidTo = ({ seen }: AgentWorld): string => JSON.stringify(seen.at(-1)?.body["messages"]);
const resume = (id: SessionId) => ({ kind: "resume", id }) as const;
const idsIn = (world: AgentWorld) => openWorkspace({ env: world.env, cwd: world.work }).list("project");

/** `/new` begins anew, any other command opens the session that the test names: this one where it names none. */
async function reopening(
  world: AgentWorld,
  parts: ChatParts & { readonly other?: SessionId } = {},
): Promise<ChatWorld> {
  const chat: ChatWorld = await openChat(world, {
    ...parts,
    deps: {
      runSlash: async ({ name }): Promise<ChatCommandOutcome> =>
        name === "new"
          ? { kind: "open", session: { kind: "new" } }
          : { kind: "open", session: resume(parts.other ?? chat.chat.session) },
      ...parts.deps,
    },
  });
  return chat;
}

async function run({ chat }: ChatWorld, ...texts: readonly string[]): Promise<void> {
  for (const text of texts) chat.submit(text);
  await chat.rest();
}

async function modeChanged(chat: ChatWorld, to: PermissionMode): Promise<void> {
  chat.chat.nextMode();
  await chat.front.until(({ status }) => status.mode === to);
}

describe("the permission mode of a chat", () => {
  it.each(["/model x", "/clear"])(
    "that the user narrowed stays so behind %s, whatever the line said",
    async (command) => {
      const world = await agentWorld({ responder: playing(says("One.")) });
      const chat = await reopening(world, { agent: inMode("acceptEdits") });
      await run(chat, "Hello.");
      await modeChanged(chat, "plan");
      await run(chat, command);
      expect(chat.agents).toHaveLength(2);
      expect(modeOf(chat)).toBe("plan");
    },
  );

  it("that the user widened by a key is still in force when the session is opened again", async () => {
    const world = await agentWorld({ responder: playing(says("One.")) });
    const chat = await reopening(world);
    await run(chat, "Hello.");
    await modeChanged(chat, "acceptEdits");
    await run(chat, "/model x");
    expect(modeOf(chat)).toBe("acceptEdits");
  });

  it("widens no other session that is gone on with", async () => {
    const world = await agentWorld({ responder: playing(says("One."), says("Two.")) });
    const planned = await openChat(world, { agent: inMode("acceptEdits") });
    await run(planned, "Hello.");
    await modeChanged(planned, "plan");
    await planned.left();
    const chat = await reopening(world, { agent: inMode("acceptEdits"), other: planned.chat.session });
    await run(chat, "Hello.", "/resume x");
    expect([chat.chat.session, modeOf(chat)]).toEqual([planned.chat.session, "plan"]);
  });

  it("counts two quick keys as two, and reaches what the chat was opened with, also behind a change of model", async () => {
    const world = await agentWorld({ responder: playing(says("One.")) });
    const chat = await reopening(world, { agent: inMode("bypass") });
    await modeChanged(chat, "default");
    await run(chat, "Hello.", "/model x");
    for (let key = 0; key < 2; key += 1) chat.chat.nextMode();
    await chat.front.until(({ status }) => status.mode === "plan");
    await modeChanged(chat, "bypass");
  });
});

const job: MoveBlock = {
  type: "tool_use",
  name: "bash",
  input: { command: "touch began; until [ -e go ]; do sleep 0.05; done", background: true },
};
const running = ({ agents }: ChatWorld): number =>
  agents
    .at(-1)
    ?.jobs()
    .filter(({ state }) => state.kind === "running").length ?? 0;

describe("jobs in the background", () => {
  it("run on when the same session is opened again, and the model is told of their end there", async () => {
    const world = await agentWorld({ responder: playing([job], says("Begun."), says("Seen.")) });
    const chat = await reopening(world, { agent: inMode("bypass") });
    await run(chat, "Begin.");
    await expect.poll(() => existsSync(join(world.work, "began")), within).toBe(true);
    await run(chat, "/model x");
    expect([chat.agents.length, running(chat)]).toEqual([2, 1]);
    await writeFile(join(world.work, "go"), "");
    await expect.poll(() => running(chat), within).toBe(0);
    await run(chat, "And?");
    expect(saidTo(world)).toMatch(/job_\w+.*exit code 0/);
  });

  it("end with a session that is left for another, and the user is told", async () => {
    const world = await agentWorld({ responder: playing([job], says("Begun.")) });
    const chat = await reopening(world, { agent: inMode("bypass") });
    await run(chat, "Begin.", "/clear");
    expect(itemsOf(chat.front.state).at(-1)).toBe(
      "plain: Ended with the session that was left: 1 job in the background.",
    );
    expect(chat.agents[0]?.jobs().map(({ state }) => state.kind)).toEqual(["ended"]);
  });
});

describe("a session that is chosen before anything is opened", () => {
  async function chosen(answer: (ids: readonly string[]) => string | undefined) {
    const world = await agentWorld({ responder: playing(says("One."), says("Two.")) });
    const first = await openChat(world, { message: "First." });
    await first.chat.rest();
    await first.left();
    const chat = await openChat(world, {
      opening: { session: { kind: "choose" }, flags: [] },
      message: "Go on here.",
      front: { choose: async ({ choices }) => answer(choices.map(({ value }) => value)) },
    });
    await chat.chat.rest();
    return { world, chat, first };
  }

  it("hears the message that the line began with, and no other session is made", async () => {
    const { world, chat, first } = await chosen(([id]) => id);
    expect(chat.agents.map(({ session }) => session.id)).toEqual([first.chat.session]);
    expect(saidTo(world)).toMatch(/First\..*Go on here\./);
    expect(await idsIn(world)).toHaveLength(1);
  });

  it("none of them: the message goes back where the user types", async () => {
    const { world, chat } = await chosen(() => undefined);
    expect(chat.front.refilled).toEqual(["Go on here."]);
    expect(world.seen).toHaveLength(1);
    await chat.left();
  });
});

describe("a session that is slow to close", () => {
  it("is opened again only when it is closed", async () => {
    const world = await agentWorld({ responder: playing(says("One."), says("Two.")) });
    await mkdir(world.home, { recursive: true });
    const hook = { hooks: [{ type: "command", command: `sleep 6; touch '${world.home}/closed'`, timeout: 20 }] };
    await writeFile(join(world.home, "settings.json"), JSON.stringify({ hooks: { SessionEnd: [hook] } }));
    const chat = await reopening(world);
    await run(chat, "Hello.", "/model x");
    expect(itemsOf(chat.front.state).filter((line) => line.includes("Not opened"))).toEqual([]);
    expect(existsSync(join(world.home, "closed"))).toBe(true);
    await writeFile(join(world.home, "settings.json"), "{}");
    await run(chat, "Still here?");
    expect(itemsOf(chat.front.state).at(-1)).toBe("text: Two.");
  });
});

describe("what waits when another session is opened", () => {
  it("goes along: it is kept beside the other, and beside the one that was left no more", async () => {
    const world = await agentWorld({ responder: playing(says("One.")) });
    const chat = await reopening(world, { message: "Hello." });
    await chat.chat.rest();
    const left = chat.chat.session;
    Object.assign(chat.front, { typed: "half a thought" });
    chat.chat.typed();
    const kept = (): readonly string[] => globSync("projects/*/*/*.json", { cwd: world.home });
    await expect.poll(() => kept().filter((path) => path.includes(left)), within).toHaveLength(1);
    await run(chat, "/clear");
    const paths = kept().filter((path) => readFileSync(join(world.home, path), "utf8").includes("half a thought"));
    expect(paths).toEqual([expect.stringContaining(`${chat.chat.session}/input.json`)]);
  });
});
