import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { openWorkspace } from "../../packages/cli/src/host/workspace.ts";
import type { ChatState } from "../../packages/cli/src/tui/state/chat-state.ts";
import { formatBackground } from "../../packages/cli/src/tui/text/status-figures.ts";
import type { MoveBlock } from "../../packages/simulator/src/responder/responder.ts";
import {
  backgroundResponder,
  type ForkAnswer,
  forksIn,
  memoryNames,
  readsAndWritesOutside,
} from "./support/background-world.ts";
import { called } from "./support/called.ts";
import { type ChatWorld, isAtRest, itemsOf, openChat } from "./support/chat-world.ts";
import { memoriesOf, memoryText, model, resultsOf, saves } from "./support/memory-world.ts";
import { says } from "./support/simulated.ts";
import { slashWorld } from "./support/slash-world.ts";
import { type AgentWorld, agentWorld, turn } from "./support/whole-agent.ts";

const rule = "Always run the linter before you commit.";
const lint = saves("lint.md", memoryText(rule, rule));
const savesLint: ForkAnswer = () => [lint];

const worldWith = (extraction: ForkAnswer, variables: Readonly<Record<string, string>> = {}): Promise<AgentWorld> =>
  agentWorld({ responder: backgroundResponder({ extraction }) }, { PALIMPSEST_FLAG_EXTRACTION: "1", ...variables });

async function say({ chat, front }: ChatWorld, text: string): Promise<void> {
  chat.submit(text);
  await chat.rest();
  await front.until(isAtRest);
}

const hasSaved = ({ done, open }: ChatState): boolean => [...done, ...open].some(({ kind }) => kind === "memories");

describe("memories that are saved in the background", () => {
  it("stand in the chat as one line with their names, which unfolds into path, words and how to take them back", async () => {
    const world = await worldWith(savesLint);
    const opened = await openChat(world);
    await say(opened, rule);
    const state = await opened.front.until(hasSaved);
    expect(itemsOf(state).at(-1)).toBe("Saved 1 memory: Always run the.");
    const item = [...state.done].at(-1);
    expect(item).toMatchObject({
      kind: "memories",
      revision: "r1",
      memories: [{ path: "lint.md", description: rule, change: "saved" }],
    });
    expect(await memoryNames(world)).toEqual(["lint.md"]);
  });

  it("one key takes them back, also while a turn runs, and says so; a second time says that it is done", async () => {
    const world = await worldWith(savesLint);
    const opened = await openChat(world);
    await say(opened, rule);
    await opened.front.until(hasSaved);
    opened.handlers.undoMemories();
    await opened.front.until((state) => itemsOf(state).some((line) => line.includes("was taken back")));
    expect(await memoryNames(world)).toEqual([]);
    opened.handlers.undoMemories();
    await opened.front.until((state) => itemsOf(state).some((line) => line.includes("taken back already")));
  });

  it("are shown in the status line and by /tasks while they are being extracted", async () => {
    const gate = Promise.withResolvers<void>();
    const world = await worldWith(async () => {
      await gate.promise;
      return says("Nothing to save.");
    });
    const opened = await openChat(world);
    await say(opened, rule);
    const pill = (state: ChatState): string => formatBackground(state.status.background);
    expect(pill(await opened.front.until((state) => pill(state) !== ""))).toBe("memories");
    await say(opened, "/tasks");
    expect(itemsOf(opened.front.state).at(-1)).toBe("memories are being extracted from what was said");
    gate.resolve();
    await opened.front.until((state) => pill(state) === "");
    expect(itemsOf(opened.front.state).filter((line) => line.startsWith("Saved"))).toEqual([]);
    await say(opened, "/tasks");
    expect(itemsOf(opened.front.state).at(-1)).toBe("the last extraction saved nothing");
  });

  it("are counted by /tasks, and a failure is said there and by receipts", async () => {
    let forks = 0;
    const world = await worldWith(() => [forks++ === 0 ? lint : saves("lint.md", "Unheard of.")]);
    const opened = await openChat(world);
    await say(opened, rule);
    await opened.front.until(hasSaved);
    await say(opened, "/tasks");
    expect(itemsOf(opened.front.state).at(-1)).toBe("the last extraction saved 1 memory: revision r1");
    await say(opened, "Never push to main.");
    await vi.waitFor(() => expect(forksIn(world.seen)).toHaveLength(6));
    await opened.front.until(({ status }) => status.background.extraction === "idle");
    await say(opened, "/tasks");
    expect(itemsOf(opened.front.state).at(-1)).toBe("the last extraction failed: It ran out of replies.");
    const { home, work: cwd } = world;
    const { out } = await called({ home, cwd }, "receipts", opened.agents[0]?.session.id ?? fail());
    expect(out).toMatch(/extraction\n +ran +2 times\n +failed +\S+ \S+ +It ran out of replies\.\n/);
    expect((await called({ home, cwd }, "recall", "--all", "linter")).out).not.toContain("logs/");
  });

  it("say how to take them back from the shell if they are saved while the user leaves", async () => {
    const gate = Promise.withResolvers<void>();
    const world = await worldWith(async () => {
      await gate.promise;
      return [lint];
    });
    const opened = await openChat(world);
    await say(opened, rule);
    opened.chat.quit();
    await opened.front.until(({ phase }) => phase.kind === "saving");
    gate.resolve();
    await opened.left();
    expect(itemsOf(opened.front.state).at(-1)).toBe(
      "plain: Saved 1 memory: Always run the. `palimpsest memory revert r1` takes this back.",
    );
  });

  it("are not extracted in plan mode, in which nothing may be written", async () => {
    const world = await worldWith(savesLint);
    const agent = await world.open({ kind: "new" }, model);
    await agent.mode.change("plan");
    await turn(agent, rule);
    await agent.close();
    expect(forksIn(world.seen)).toEqual([]);
  });

  it("are awaited when the user leaves, who sees it; Esc leaves at once", async () => {
    const gate = Promise.withResolvers<void>();
    const world = await worldWith(async () => {
      await gate.promise;
      return [lint];
    });
    const opened = await openChat(world);
    await say(opened, "The release is on Friday.");
    opened.chat.quit();
    await opened.front.until(({ phase }) => phase.kind === "saving");
    opened.handlers.interrupt();
    expect((await opened.left()).kind).toBe("left");
    gate.resolve();
    const second = await openChat(world);
    await say(second, rule);
    await second.left();
    expect(await memoryNames(world)).toEqual(["lint.md"]);
  });
});

describe("/memory undo", () => {
  it("takes back the newest of this session, though the day's log has grown since, but not what the user has changed", async () => {
    const answers: readonly (readonly MoveBlock[])[] = [
      [lint],
      [saves("push.md", memoryText("Never push", "Never push to main."))],
    ];
    let forks = 0;
    const world = await worldWith(() => answers[forks++] ?? says("Nothing to save."));
    const [first, second] = [await world.open({ kind: "new" }, model), await world.open({ kind: "new" }, model)];
    const chat = slashWorld(world, first);
    await chat.run("/memory undo");
    expect(chat.said()).toBe("Nothing was saved in the background in this session.");
    await turn(first, rule);
    await vi.waitFor(async () => expect(await memoryNames(world)).toEqual(["lint.md"]));
    await turn(second, "Never push to main.");
    await vi.waitFor(async () => expect(await memoryNames(world)).toEqual(["lint.md", "push.md"]));
    await chat.run("/memory undo");
    expect(chat.said()).toMatch(/^Revision r1 was taken back \(lint\.md\) by revision r3/);
    expect(await memoryNames(world)).toEqual(["push.md"]);
    const memories = await memoriesOf(world);
    const push = await memories.read("push.md");
    await memories.commit({
      author: "user",
      provenance: { at: push?.modifiedMs ?? fail(), trust: "trusted" },
      message: "edited",
      changes: [{ path: "push.md", expected: "any", text: `${push?.text}Not even once.\n` }],
    });
    const other = slashWorld(world, second);
    await other.run("/memory undo");
    expect(other.said()).toContain("push.md changed after revision r2, so nothing was changed.");
    expect((await memories.read("push.md"))?.text).toContain("Not even once.");
    await first.close();
    await second.close();
  });
});

function fail(): never {
  throw new Error("it is not there");
}

describe("no memory is extracted", () => {
  it.each<[string, Readonly<Record<string, string>>]>([
    ["the switch", { PALIMPSEST_FLAG_EXTRACTION: "0" }],
    ["autoMemoryEnabled", { PALIMPSEST_AUTO_MEMORY_ENABLED: "0" }],
    ["the other agent's variable", { CLAUDE_CODE_DISABLE_AUTO_MEMORY: "1" }],
  ])("with %s off", async (_, variables) => {
    const world = await worldWith(savesLint, variables);
    const agent = await world.open({ kind: "new" }, model);
    await turn(agent, rule);
    await agent.stopAside();
    await agent.close();
    expect(world.seen).toHaveLength(1);
    expect(await memoryNames(world)).toEqual([]);
  });

  it.each(["unasked", "refused"] as const)(
    "in a project that wants more than it may and whose trust is %s",
    async (trust) => {
      const world = await worldWith(savesLint);
      await mkdir(join(world.work, ".palimpsest"));
      await writeFile(join(world.work, ".palimpsest/settings.json"), '{"permissions":{"allow":["Bash(make:*)"]}}');
      if (trust === "refused") await openWorkspace({ env: world.env, cwd: world.work }).decideTrust("refused");
      const agent = await world.open({ kind: "new" }, model);
      await turn(agent, rule);
      await agent.close();
      expect(forksIn(world.seen)).toEqual([]);
    },
  );

  it("without new input: a session that is resumed and left asks for nothing", async () => {
    const world = await worldWith(savesLint);
    const agent = await world.open({ kind: "new" }, model);
    await turn(agent, rule);
    await agent.close();
    const before = world.seen.length;
    const resumed = await world.open({ kind: "resume", id: agent.session.id }, model);
    await resumed.stopAside();
    await resumed.close();
    expect(world.seen).toHaveLength(before);
  });
});

describe("palimpsest -p", () => {
  const print = (world: AgentWorld, ...argv: readonly string[]) =>
    called(
      { home: world.home, cwd: world.work, env: { ANTHROPIC_API_KEY: "any", ANTHROPIC_BASE_URL: world.url } },
      "-p",
      rule,
      "--model",
      model,
      ...argv,
    );

  it("extracts nothing unless it is asked to", async () => {
    const world = await worldWith(savesLint);
    expect(await print(world)).toMatchObject({ code: 0, out: "Done.\n" });
    expect(world.seen).toHaveLength(1);
  });

  it("with --on extraction waits for it, and says what was saved before the result", async () => {
    const world = await worldWith(savesLint);
    const { out } = await print(world, "--on", "extraction", "--output-format", "stream-json");
    const events = out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { readonly type: string });
    expect(events.map(({ type }) => type).slice(-3)).toEqual(["turn-end", "memories-saved", "result"]);
    expect(events.at(-2)).toMatchObject({ by: "extraction", revision: "r1", memories: [{ path: "lint.md" }] });
    const { err } = await print(await worldWith(savesLint), "--on", "extraction");
    expect(err).toContain("Saved 1 memory: Always run the. `palimpsest memory revert r1` takes this back.");
  });
});

describe("what extracts memories", () => {
  it("may read, but writes nothing outside of the memories: neither by tools nor by the shell nor by a path", async () => {
    const world = await worldWith((round) =>
      round === 0 ? [...readsAndWritesOutside(world), saves("lint.md", memoryText(rule, rule))] : says("Done."),
    );
    const path = join(world.work, "note.txt");
    await writeFile(path, "as it was\n");
    const agent = await world.open({ kind: "new" }, model);
    await turn(agent, rule);
    await agent.close();
    const [read, ...others] = resultsOf(forksIn(world.seen).at(-1) ?? fail());
    expect(read).toContain("as it was");
    for (const denied of others.slice(0, 3)) expect(denied).toContain("While memories are kept, only memory");
    expect(await memoryNames(world)).toEqual(["lint.md"]);
    expect(await readFile(path, "utf8")).toBe("as it was\n");
  });
});
