import { existsSync, globSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { TerminalUiHandlers } from "../../packages/cli/src/chat/terminal-ui.ts";
import { type ChatParts, type ChatWorld, itemsOf, openChat } from "./support/chat-world.ts";
import { playing, says } from "./support/simulated.ts";
import { type AgentWorld, agentWorld } from "./support/whole-agent.ts";

const within = { timeout: 10_000 };
const items = ({ front }: ChatWorld): readonly string[] => itemsOf(front.state);
const saidTo = ({ seen }: AgentWorld): string => JSON.stringify(seen.at(-1)?.body["messages"]);
/** Everything that is kept, beside sessions and where there is none yet. */
const kept = ({ home }: AgentWorld): readonly string[] =>
  globSync("projects/*/{*/input.json,typed/*.json}", { cwd: home }).map((path) =>
    readFileSync(join(home, path), "utf8"),
  );

async function whenItBegins(world: AgentWorld, command: string): Promise<void> {
  await mkdir(world.home, { recursive: true });
  const hooks = { SessionStart: [{ hooks: [{ type: "command", command }] }] };
  await writeFile(join(world.home, "settings.json"), JSON.stringify({ hooks }));
}

/** One that was left with this in its editor. */
async function leftWith(world: AgentWorld, draft: string, parts: ChatParts = {}): Promise<ChatWorld> {
  const chat = await openChat(world, parts);
  await chat.chat.rest();
  Object.assign(chat.front, { typed: draft });
  await chat.left();
  return chat;
}

describe("what is sent while a session opens", () => {
  it("takes the place of nothing that was kept beside it, and is not given back as well", async () => {
    const world = await agentWorld({ responder: playing(says("One."), says("Two.")) });
    const before = await leftWith(world, "old words", { message: "Hello." });
    let handlers: TerminalUiHandlers | undefined;
    const chat = await openChat(world, {
      opening: { session: { kind: "resume", id: before.chat.session }, flags: [] },
      message: "new words",
      begun: (own) => (handlers = own),
      deps: {
        past: async () => {
          handlers?.submit("newer words");
          await pause(100);
          return [];
        },
      },
    });
    await chat.chat.rest();
    expect(chat.front.refilled).toEqual(["old words"]);
    expect(items(chat).filter((line) => line.startsWith(">"))).toEqual(["> new words", "> newer words"]);
  });

  it("is on disk before the agent is there, and no more once it is said", async () => {
    const world = await agentWorld({ responder: playing(says("One.")) });
    await whenItBegins(world, "until [ -e go ]; do sleep 0.05; done");
    const opening = openChat(world, { message: "Early words." });
    await expect.poll(() => kept(world), within).toEqual([expect.stringContaining("Early words.")]);
    await writeFile(join(world.work, "go"), "");
    const chat = await opening;
    await chat.chat.rest();
    expect(items(chat)).toEqual(["> Early words.", "text: One."]);
    await expect.poll(() => kept(world), within).toEqual([]);
  });
});

describe("what was typed in a session in which nothing was said", () => {
  it("is given back in the one that is gone on with, once", async () => {
    const world = await agentWorld({ responder: playing(says("One.")) });
    const spoken = await leftWith(world, "", { message: "Hello." });
    await leftWith(world, "half a thought");
    const opening = { session: { kind: "resume", id: spoken.chat.session }, flags: [] } as const;
    const chat = await openChat(world, { opening, takesUp: "left-input" });
    expect(chat.front.refilled).toEqual(["half a thought"]);
    expect(items(chat).at(-1)).toMatch(/^plain: .*in which nothing was said is back where you type/);
    Object.assign(chat.front, { typed: "" });
    await chat.left();
    expect(kept(world)).toEqual([]);
  });

  it("is left alone while another process has it", async () => {
    const world = await agentWorld({ responder: playing() });
    await leftWith(world, "half a thought");
    const [path = ""] = globSync("projects/*/*/input.json", { cwd: world.home });
    const content = JSON.parse(readFileSync(join(world.home, path), "utf8")) as object;
    await writeFile(join(world.home, path), JSON.stringify({ ...content, pid: process.ppid }));
    const chat = await openChat(world, { takesUp: "left-input" });
    expect(chat.front.refilled).toEqual([]);
    expect(kept(world)).toHaveLength(1);
  });

  it("gives messages back as one text, and tells of commands that were not run", async () => {
    const world = await agentWorld({ responder: playing(says("One.")) });
    const before = await leftWith(world, "and a draft", { message: "Hello." });
    const [path = ""] = globSync("projects/*/*/input.json", { cwd: world.home });
    const messages = ["one", "/clear", "two"].map((text) => ({ text, at: Date.now() }));
    await writeFile(join(world.home, path), JSON.stringify({ messages, draft: "and a draft" }));
    const chat = await openChat(world, {
      opening: { session: { kind: "resume", id: before.chat.session }, flags: [] },
    });
    expect(chat.front.refilled).toEqual(["one\n\ntwo\n\nand a draft"]);
    expect(items(chat).at(-1)).toBe("plain: Not run: /clear");
  });
});

describe("leaving while the agent opens", () => {
  it("ends the hooks that it waits for, and leaves no session behind", async () => {
    const world = await agentWorld({ responder: playing() });
    await whenItBegins(world, "touch began; sleep 30");
    let handlers: TerminalUiHandlers | undefined;
    const opening = openChat(world, { begun: (own) => (handlers = own) });
    await expect.poll(() => existsSync(join(world.work, "began")), within).toBe(true);
    const since = performance.now();
    handlers?.quit();
    const chat = await opening;
    expect(await chat.left()).toMatchObject({ kind: "left", lastTurn: undefined });
    expect(performance.now() - since).toBeLessThan(5_000);
    expect(globSync("projects/*/*.jsonl", { cwd: world.home })).toEqual([]);
  });

  it("is no failure where there is no agent yet, and what was sent stays kept", async () => {
    const world = await agentWorld({ responder: playing(says("One.")) });
    await leftWith(world, "", { message: "Hello." });
    let handlers: TerminalUiHandlers | undefined;
    const chat = await openChat(world, {
      opening: { session: { kind: "choose" }, flags: [] },
      message: "Early words.",
      begun: (own) => (handlers = own),
      front: {
        choose: async () => {
          handlers?.quit();
          return undefined;
        },
      },
    });
    expect(await chat.left()).toEqual({ kind: "left-early" });
    expect(kept(world)).toEqual([expect.stringContaining("Early words.")]);
  });
});

describe("a command of the chat", () => {
  it("that the machine refuses is told, and the chat goes on", async () => {
    const world = await agentWorld({ responder: playing(says("One."), says("Two.")) });
    const chat = await openChat(world, { message: "Hello." });
    await chat.chat.rest();
    for (const text of [`/export ${"x".repeat(300)}.md`, "Still here?"]) chat.chat.submit(text);
    await chat.chat.rest();
    expect(items(chat).filter((line) => line.startsWith("error"))).toEqual([expect.stringMatching(/ENAMETOOLONG/)]);
    expect(items(chat).at(-1)).toBe("text: Two.");
    expect(saidTo(world)).toContain("Still here?");
  });

  it("that is a bug ends the chat, and what waited behind it stays kept", async () => {
    const world = await agentWorld({ responder: playing() });
    const bug = Promise.withResolvers<never>();
    const chat = await openChat(world, { deps: { runSlash: () => bug.promise }, ends: "by-a-bug" });
    for (const text of ["/cost", "Don't lose me."]) chat.chat.submit(text);
    bug.reject(new TypeError("a slip"));
    await chat.chat.rest();
    await expect(chat.left()).rejects.toThrow("a slip");
    expect(kept(world)).toEqual([expect.stringContaining("Don't lose me.")]);
  });

  it("that there is none of goes back where the user types", async () => {
    const world = await agentWorld({ responder: playing() });
    const chat = await openChat(world);
    Object.assign(chat.front, { typed: "" });
    chat.chat.submit("/hlep me");
    expect(chat.front.refilled).toEqual(["/hlep me"]);
  });
});
