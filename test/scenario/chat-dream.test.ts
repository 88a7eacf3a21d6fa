import { describe, expect, it, vi } from "vitest";
import { openWorkspace } from "../../packages/cli/src/host/workspace.ts";
import { nanoUsd } from "../../packages/palimpsest/src/schema/brand.ts";
import type { ChatState } from "../../packages/cli/src/tui/state/chat-state.ts";
import { formatBackground } from "../../packages/cli/src/tui/text/status-figures.ts";
import {
  backgroundResponder,
  type ForkAnswer,
  forksIn,
  memoryNames,
  merges,
  rememberTexts,
} from "./support/background-world.ts";
import { called } from "./support/called.ts";
import { type ChatWorld, itemsOf, openChat } from "./support/chat-world.ts";
import { memoriesOf, model } from "./support/memory-world.ts";
import { type AgentWorld, agentWorld, turn } from "./support/whole-agent.ts";

async function worldWith(dream: ForkAnswer, variables: Readonly<Record<string, string>> = {}): Promise<AgentWorld> {
  const world = await agentWorld({ responder: backgroundResponder({ dream }) }, variables);
  await rememberTexts(world);
  return world;
}

async function projectOf({ env, work: cwd }: AgentWorld) {
  const project = await openWorkspace({ env, cwd }).project();
  if (project.kind !== "located") throw new Error(project.message);
  return project;
}

async function command({ chat }: ChatWorld, text: string): Promise<void> {
  chat.submit(text);
  await chat.rest();
}

const shows =
  (text: string) =>
  (state: ChatState): boolean =>
    itemsOf(state).some((line) => line.includes(text));
const pill = ({ status }: ChatState): string => formatBackground(status.background);

/** A dream that waits for the test before it writes. */
function gated(): { readonly answer: ForkAnswer; readonly open: () => void } {
  const gate = Promise.withResolvers<void>();
  return {
    answer: async (round, directive) => {
      await gate.promise;
      return merges(round, directive);
    },
    open: () => gate.resolve(),
  };
}

describe("/dream", () => {
  it("runs in the background, is shown meanwhile, and says what it did; one key takes all of it back", async () => {
    const { answer, open } = gated();
    const world = await worldWith(answer);
    const opened = await openChat(world);
    await command(opened, "/dream");
    expect(itemsOf(opened.front.state).at(-1)).toContain("Dreaming in the background");
    await opened.front.until((state) => pill(state) === "dreaming");
    await command(opened, "/dream");
    expect(itemsOf(opened.front.state).at(-1)).toMatch(/A dream is running for \d+ s, starting: .*\/tasks ends it\./);
    open();
    const state = await opened.front.until(shows("2 memories were changed. Revision r2"));
    expect(itemsOf(state).join("\n")).toContain(
      "Dreamt. Saved 1 memory: Indent with tabs. Deleted 1 memory: Code indent.",
    );
    expect(pill(await opened.front.until((after) => pill(after) === ""))).toBe("");
    expect(await memoryNames(world)).toEqual(["release.md", "tabs.md"]);
    opened.handlers.undoMemories();
    await opened.front.until(shows("Revision r2 was taken back"));
    expect(await memoryNames(world)).toHaveLength(3);
  });

  it("asks no model again while nothing is new, neither here nor in another process: its own booking is not news", async () => {
    const world = await worldWith(merges);
    const opened = await openChat(world);
    await command(opened, "Hello");
    await command(opened, "/dream");
    await opened.front.until(shows("2 memories were changed."));
    const before = forksIn(world.seen, "dream").length;
    await command(opened, "/dream");
    expect(itemsOf(opened.front.state).at(-1)).toContain("Nothing was said or saved here since the last dream");
    const { home, work: cwd, url } = world;
    const env = { ANTHROPIC_API_KEY: "any", ANTHROPIC_BASE_URL: url, PALIMPSEST_MODEL: model };
    expect((await called({ home, cwd, env }, "dream")).out).toContain("Nothing to do: nothing was said or saved");
    expect(forksIn(world.seen, "dream")).toHaveLength(before);
    await command(opened, "The release is on 2026-12-05.");
    await command(opened, "/dream");
    await vi.waitFor(() => expect(forksIn(world.seen, "dream").length).toBeGreaterThan(before));
  });

  it("/tasks shows its phase, replies, calls and files, and ends it: then nothing is changed", async () => {
    const world = await worldWith(async (round, directive) => {
      if (round > 0) await new Promise(() => {});
      return merges(round, directive);
    });
    const answers: Record<string, string> = { "Which one?": "dream", dream: "end" };
    const opened = await openChat(world, { front: { choose: async ({ title }) => answers[title] } });
    await command(opened, "/dream");
    await vi.waitFor(() => expect(opened.agents[0]?.dream?.task?.phase).toBe("updating"));
    await vi.waitFor(() => expect(opened.agents[0]?.dream?.task?.files).toHaveLength(2));
    await command(opened, "/tasks");
    const lines = itemsOf(opened.front.state).join("\n");
    expect(lines).toMatch(/dream {2}running for \d+ s, updating: \d repl(?:y|ies), 2 calls, indent\.md, tabs\.md/);
    expect(lines).toContain("1  Two memories are about indentation. · 2 calls");
    expect(lines).toContain("The dream is ended; nothing was changed.");
    expect(await memoryNames(world)).toHaveLength(3);
    await command(opened, "/tasks");
    expect(itemsOf(opened.front.state).at(-1)).toMatch(/^dream {2}killed \d+ s ago/);
  });

  it("--dry-run shows the difference and changes nothing", async () => {
    const world = await worldWith(merges);
    const opened = await openChat(world);
    await command(opened, "/dream --dry-run");
    const state = await opened.front.until(shows("2 memories would be changed."));
    expect(itemsOf(state).join("\n")).toContain("+ Makefiles are indented with tabs as well.");
    expect(await memoryNames(world)).toHaveLength(3);
  });

  it("ends with the chat, and leaves the memories and the time of the last dream as they were", async () => {
    const world = await worldWith(() => new Promise(() => {}));
    const opened = await openChat(world);
    await command(opened, "/dream");
    await vi.waitFor(() => expect(opened.agents[0]?.dream?.task?.status).toBe("running"));
    await opened.left();
    expect(await memoryNames(world)).toHaveLength(3);
    expect(await (await projectOf(world)).deps.dreams?.lastAt()).toBeUndefined();
  });

  it("does nothing if nothing was said or saved since the last one", async () => {
    const world = await worldWith(merges);
    const first = await openChat(world);
    await command(first, "/dream");
    await first.front.until(shows("2 memories were changed."));
    await command(first, "/dream");
    await first.front.until(shows("Nothing was said or saved here since the last dream"));
    expect(forksIn(world.seen, "dream")).toHaveLength(2);
  });
});

/** Sessions of other days, which cost enough that a dream is small beside them. */
async function otherSessions(world: AgentWorld, count: number): Promise<void> {
  const { deps } = await projectOf(world);
  await deps.spend?.add({ at: deps.now(), source: "main", nanos: nanoUsd(10_000_000_000) });
  for (let nth = 0; nth < count; nth += 1) {
    const agent = await world.open({ kind: "new" }, model);
    await turn(agent, `Look at file ${nth}.`);
    await agent.close();
  }
}

describe("dreams by themselves", () => {
  const on = { PALIMPSEST_FLAG_DREAM: "1" };

  it("come after a turn once five other sessions have gone by, and not again for a day", async () => {
    const world = await worldWith(merges, { PALIMPSEST_FLAG_DREAM: "0" });
    await otherSessions(world, 4);
    Object.assign(world.env, on);
    const agent = await world.open({ kind: "new" }, model);
    await turn(agent, "Hi.");
    await agent.close();
    expect(forksIn(world.seen, "dream")).toEqual([]);
    const chat = await openChat(world);
    await command(chat, "Hi again.");
    await chat.front.until(shows("Dreamt."));
    const asked = forksIn(world.seen, "dream").length;
    await command(chat, "And again.");
    await otherSessions(world, 1);
    expect(forksIn(world.seen, "dream")).toHaveLength(asked);
    const log = await (await memoriesOf(world)).history();
    expect(log.filter(({ author }) => author === "dream")).toHaveLength(1);
  });

  it.each<[string, Readonly<Record<string, string>>]>([
    ["the switch", { PALIMPSEST_FLAG_DREAM: "0" }],
    ["autoDreamEnabled", { PALIMPSEST_FLAG_DREAM: "1", PALIMPSEST_AUTO_DREAM_ENABLED: "0" }],
    ["autoMemoryEnabled", { PALIMPSEST_FLAG_DREAM: "1", PALIMPSEST_AUTO_MEMORY_ENABLED: "0" }],
  ])("do not come with %s off", async (_, variables) => {
    const world = await worldWith(merges, variables);
    await otherSessions(world, 6);
    expect(forksIn(world.seen, "dream")).toEqual([]);
  });

  it("do not come in -p unless they are asked for; then they are awaited", async () => {
    const world = await worldWith(merges, { PALIMPSEST_FLAG_DREAM: "0" });
    await otherSessions(world, 5);
    const print = (...argv: readonly string[]) =>
      called(
        { home: world.home, cwd: world.work, env: { ANTHROPIC_API_KEY: "any", ANTHROPIC_BASE_URL: world.url } },
        "-p",
        "Hi.",
        "--model",
        model,
        ...argv,
      );
    await print();
    expect(forksIn(world.seen, "dream")).toEqual([]);
    expect((await print("--on", "dream")).err).toContain("Dreamt. Saved 1 memory");
  });
});
