import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { SessionContext } from "../../packages/palimpsest/src/context/session-context.ts";
import { millis } from "../../packages/palimpsest/src/schema/brand.ts";
import { memoryTranscripts } from "../../packages/palimpsest/src/store/memory/memory-transcripts.ts";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Agent } from "../../packages/cli/src/agent/agent.ts";
import { completions } from "../../packages/cli/src/chat/commands/completions.ts";
import type { SlashCompletion } from "../../packages/cli/src/tui/slash/slash-commands.ts";
import { type CompactionWorld, compactionWorld, type OpenWishes, taskText } from "./support/compaction-world.ts";
import { type SlashWorld, slashWorld } from "./support/slash-world.ts";

const flags = [["off", "compact.auto"] as const, ["off", "notes"] as const];

interface Chat {
  readonly world: CompactionWorld;
  readonly agent: Agent;
  readonly chat: SlashWorld;
}

interface Wishes {
  readonly rounds?: number;
  readonly open?: OpenWishes;
  readonly before?: (world: CompactionWorld) => Promise<void>;
  readonly look?: Parameters<typeof slashWorld>[2];
}

async function chatAbout(texts: readonly string[], wishes: Wishes = {}): Promise<Chat> {
  const world = await compactionWorld();
  await wishes.before?.(world);
  const agent = await world.open({ kind: "new" }, { flags, beside: { jobs: "on" }, ...wishes.open });
  onTestFinished(() => agent.close());
  for (const text of texts) await world.turn(agent, { text, rounds: wishes.rounds ?? 4 });
  return { world, agent, chat: slashWorld(world, agent, wishes.look) };
}

// oxlint-disable-next-line no-control-regex
const sequences = /\u001B\[[\d;]*m/g;

describe("/undo", () => {
  test("says so where nothing is left to take back", async () => {
    const { chat } = await chatAbout([taskText(0)], { rounds: 0 });
    await chat.run("/undo");
    expect(chat.said()).toBe("No edit is in force.");
  });

  test("twice it names what brings the edit again as a command that takes it", async () => {
    const { agent, chat } = await chatAbout([taskText(0), taskText(1)]);
    await chat.run("/compact --yes");
    await chat.run("/undo");
    const back = /palimpsest undo \S+ \S+/.exec(chat.said())?.[0] ?? expect.unreachable();
    expect(back).toContain(agent.session.id);
    await chat.run("/undo");
    const [last = ""] = chat.said().split("\n").slice(-1);
    expect(last).toBe(`Nothing is left to undo. To redo the boundary, when the chat is closed: ${back}`);
  });

  test("over the limit it offers to go on from before the edit, and the next turn does", async () => {
    const { world, agent, chat } = await chatAbout([taskText(0), taskText(1)]);
    await chat.run("/compact --yes");
    const behind = agent.session.fold.projection.boundaries.length;
    const small = await world.open({ kind: "resume", id: agent.session.id }, { flags }).catch(() => undefined);
    expect(small).toBeUndefined();
    const settings = () => withBlocking(agent, 5_000);
    const { deps, conversation, compacting } = agent.context;
    const context = new SessionContext(
      { ...deps, settings },
      {
        session: agent.session,
        transcripts: memoryTranscripts({ deps: { now: () => millis(0) } }),
        costs: conversation.costs,
        compacting: () => compacting,
      },
    );
    context.start({ baseline: conversation.baseline });
    const tight = slashWorld(world, { ...agent, settings, context });
    await tight.run("/undo");
    expect(agent.session.fold.projection.boundaries).toHaveLength(behind);
    tight.answers.choose = ({ choices }) => choices.find(({ value }) => value === "branch")?.value;
    await tight.run("/undo");
    expect(tight.asked.choices.at(-1)?.title).toContain("over 5,000 tokens");
    expect(agent.session.fold.projection.boundaries).toHaveLength(0);
    expect(tight.said()).toMatch(/goes on from before boundary .*\/undo leads back/);
  });
});

const withBlocking = ({ settings }: Agent, blocking: number): ReturnType<Agent["settings"]> => {
  const now = settings();
  return { ...now, thresholds: { ...now.thresholds, blocking: blocking as typeof now.thresholds.blocking } };
};

describe("/pin", () => {
  test("lists what was said, newest first; chosen once it is pinned, chosen again it is not", async () => {
    const { agent, chat } = await chatAbout([taskText(0), "请记住：所有常量都以毫秒为单位。"], { rounds: 1 });
    chat.answers.choose = ({ choices }) => choices.find(({ label }) => label.startsWith("you: 请记住"))?.value;
    await chat.run("/pin");
    expect(chat.asked.choices[0]?.choices[0]?.label).toMatch(/^agent: Done after round/);
    expect(agent.session.fold.projection.pins.size).toBe(1);
    expect(chat.said()).toMatch(/Pinned: you: 请记住.*\npins +1, about [\d,]+ tokens of the [\d,]+ there are/);
    await chat.run("/pin");
    expect(chat.asked.choices[1]?.choices.filter(({ description }) => description?.startsWith("pinned"))).toHaveLength(
      1,
    );
    expect(agent.session.fold.projection.pins.size).toBe(0);
    expect(chat.said()).toContain("No longer pinned: you: 请记住");
  });

  test("one that is named is not asked for, and an unknown one is told", async () => {
    const { agent, chat } = await chatAbout([taskText(0)], { rounds: 0 });
    const id = agent.session.fold.projection.items.find(({ role }) => role === "user")?.entry ?? "";
    await chat.run(`/pin ${id.slice(0, 13)}`);
    expect(agent.session.fold.projection.pins.size).toBe(1);
    expect(chat.asked.choices).toEqual([]);
    chat.said();
    await chat.run("/pin nobody-said-it");
    expect(chat.said()).toBe(
      "No message of the view is called nobody-said-it. /pin without a name lists what can be pinned.",
    );
  });
});

describe("/recall", () => {
  test("finds what a boundary covers, and prints what an id stands for", async () => {
    const { chat, world, agent } = await chatAbout([taskText(0)]);
    await chat.run("/compact --yes");
    chat.said();
    const word = "step0001x150";
    await chat.run(`/recall ${word}`);
    const found = chat.said();
    expect(found).toContain(word);
    expect(found).toContain("/recall <id> shows the whole of one.");
    const id = /^([\da-f]{8}) /m.exec(found)?.[1] ?? "";
    await chat.run(`/recall ${id}`);
    expect(chat.said()).toContain("step0001x199");
    await chat.run("/recall neversaidbyanyone");
    expect(chat.said()).toContain("Nothing found in this session.");
    expect(world.seen.length).toBeGreaterThan(0);
    expect(agent.session.fold.projection.boundaries).toHaveLength(1);
  });

  test("--all searches every session of the project, and prints the original behind a hit of any of them", async () => {
    const { chat } = await chatAbout([taskText(0)]);
    chat.said();
    await chat.run("/recall --all step0001x150");
    const found = chat.said();
    const id = /^(\S+\/\S+) /m.exec(found)?.[1] ?? "";
    expect(found).toContain("/recall --all <session/id> shows the whole of one.");
    await chat.run(`/recall --all ${id}`);
    expect(chat.said()).toContain("step0001x1");
    await chat.run("/recall --all neversaidbyanyone");
    expect(chat.said()).toContain("Nothing found in any session of this project.");
  });

  test("a picked hit opens its place, with what was said before and after it", async () => {
    const { chat } = await chatAbout([taskText(0), taskText(1)]);
    chat.said();
    chat.answers.choose = ({ choices }) => choices[0]?.value;
    await chat.run("/recall step0001x150");
    expect(chat.asked.choices.at(-1)?.choices[0]?.description).toContain("step0001x150");
    const here = chat.said();
    expect(here).toMatch(/^In this session\n/);
    expect(here).toContain("step0001x150");
    expect(here.match(/^(?:user|reply|call|result)\b/gm)?.length).toBeGreaterThan(1);
  });

  test("on a screen a picked hit opens the transcript at its item, of this session and of another", async () => {
    const { chat, world, agent } = await chatAbout([taskText(0), taskText(1)]);
    const other = await world.open({ kind: "new" }, { flags });
    await world.turn(other, { text: "The zebra lives in Leipzig.", rounds: 0 });
    await other.close();
    await chat.run("/compact --yes");
    chat.said();
    chat.answers.transcript = "shown";
    chat.answers.choose = ({ title, choices }) =>
      title.includes("another session") ? "stay" : choices.find(({ label }) => /^(?:user|reply)/.test(label))?.value;
    const shownAt = () => {
      const { items, at } = chat.asked.transcripts.at(-1) ?? { items: [], at: 0 };
      return items.find(({ id }) => id === at);
    };
    expect(await chat.run("/recall step0001x150")).toEqual({ kind: "stay" });
    expect(shownAt()?.kind).toBe("text");
    expect(JSON.stringify(shownAt())).toContain("step0001x150");
    expect(chat.asked.transcripts[0]?.items.some(({ kind }) => kind === "compacted")).toBe(true);
    const calls = chat.asked.transcripts[0]?.items.filter(({ kind }) => kind === "call") ?? [];
    expect(await chat.asked.transcripts[0]?.detail(calls[0] as never)).toMatchObject({ kind: "call" });
    expect(await chat.run("/recall --all zebra")).toEqual({ kind: "stay" });
    expect(shownAt()).toMatchObject({ kind: "user", text: "The zebra lives in Leipzig." });
    expect(chat.asked.choices.at(-1)?.title).toContain("another session");
    expect(agent.session.id).not.toBe(other.session.id);
    // Nothing is printed that the screen showed.
    expect(chat.said()).toBe("");
  });

  test("a picked hit of another session is shown with its neighbours, and the chat can go on there", async () => {
    const { chat, world } = await chatAbout([taskText(0)]);
    const other = await world.open({ kind: "new" }, { flags });
    await world.turn(other, { text: "The zebra lives in Leipzig.", rounds: 0 });
    const { id } = other.session;
    await other.close();
    chat.said();
    chat.answers.choose = ({ title, choices }) =>
      title.includes("another session") ? "resume" : choices.find(({ label }) => label.startsWith("user"))?.value;
    expect(await chat.run("/recall --all zebra")).toEqual({ kind: "open", session: { kind: "resume", id } });
    expect(chat.said()).toContain("The zebra lives in Leipzig.");
  });

  test("says how to see the next page, and shows it", async () => {
    const { chat } = await chatAbout([taskText(0)], { rounds: 24 });
    await chat.run("/recall round");
    const first = chat.said();
    expect(first).toContain("page 1 of");
    const [, line = ""] = /(\/recall --page 2 round) goes on/.exec(first.replaceAll(/\s+/g, " ")) ?? [];
    await chat.run(line);
    const second = chat.said();
    expect(second).toContain("page 2 of");
    const idsOf = (said: string): readonly string[] => said.match(/^[\da-f]{8}(?= )/gm) ?? [];
    expect(idsOf(second).length).toBeGreaterThan(0);
    expect(idsOf(first).filter((id) => idsOf(second).includes(id))).toEqual([]);
  });

  test("what drives a terminal does not reach it", async () => {
    const { chat } = await chatAbout(["look at \u001B[31mthis\u001B[0m \u202Eevil please"], { rounds: 0 });
    await chat.run("/recall evil");
    expect(chat.said()).toMatch(/\\x1b\[31mthis.*<U\+202E>evil/);
  });
});

describe("/cost", () => {
  test("tells the money by model and purpose, the cache's share and what edits have saved", async () => {
    const { world, agent, chat } = await chatAbout([taskText(0), taskText(1)]);
    await chat.run("/compact --yes");
    await world.turn(agent, { text: "and on", rounds: 3 });
    chat.said();
    await chat.run("/cost");
    const said = chat.said();
    const { session } = agent.context.conversation.costs;
    expect(said).toContain(`$${(session.totalNanos / 1e9).toFixed(4)} for ${session.requests} requests`);
    expect(said).toMatch(/^claude-sonnet-5 +\d+ +[\d,]+ +\d+% +[\d,]+ +\$/m);
    expect(said).toMatch(/^conversation +\d+/m);
    expect(said).toMatch(/^summaries +1 /m);
    expect(said).toMatch(/cache +\d+% of all prompt tokens were read from it\. That saved \$[\d.]+\./);
    // Few rounds behind a summary that was paid for: nothing is called saved yet.
    expect(said).toMatch(
      /reduced +1 edit took about [\d,]+ tokens out of the view\. With \$[\d.]+ for\s+summaries, that has cost about \$[\d.]+ more than doing nothing so far\./,
    );
    expect(said).not.toContain("simulated");
  });

  test("says with the simulator that nothing was paid, and before the first request that nothing was asked", async () => {
    const { chat, world, agent } = await chatAbout([], { look: { answerer: "simulator" } });
    await chat.run("/cost");
    expect(chat.said()).toBe("Nothing was asked of a model yet.");
    await world.turn(agent, { text: "hello", rounds: 0 });
    await chat.run("/cost");
    expect(chat.said()).toContain("simulated, nothing was paid");
  });
});

describe("/context", () => {
  test.each([80, 40])(
    "shows the grid, the categories, the buffer and the largest items within %i columns",
    async (columns) => {
      const { chat } = await chatAbout([taskText(0)], { look: { columns } });
      await chat.run("/context");
      const said = chat.said();
      for (const part of ["categories", "autocompact buffer", "largest items", "tool results"])
        expect(said).toContain(part);
      expect(
        Math.max(
          ...said
            .replaceAll(sequences, "")
            .split("\n")
            .map((line) => line.length),
        ),
      ).toBeLessThanOrEqual(columns);
      expect(said).not.toMatch(sequences);
    },
  );
});

describe("/tasks", () => {
  test("lists jobs with state and command; one is looked at without taking its output from the agent, and ended", async () => {
    const { world, agent, chat } = await chatAbout([], { rounds: 1 });
    await chat.run("/tasks");
    expect(chat.said()).toBe("Nothing runs beside the conversation.");
    world.worker.instead.push([
      { type: "tool_use", name: "bash", input: { command: "echo it began; sleep 60", background: true } },
    ]);
    await world.turn(agent, { text: "run it", rounds: 1 });
    const [job] = agent.jobs();
    const written = (): string => {
      const seen = agent.jobControl?.peek(job?.id ?? "");
      return seen?.kind === "seen" ? seen.output : "";
    };
    await expect.poll(written).toBe("it began\n");
    chat.answers.choose = ({ choices }) => choices.find(({ value }) => value === job?.id || value === "end")?.value;
    await chat.run("/tasks");
    expect(chat.said()).toMatch(
      /job_[\w-]+ {2}running for \d+ s {2}echo it began; sleep 60[\s\S]*it began[\s\S]*is ended\./,
    );
    expect(agent.jobs()).toMatchObject([{ state: { kind: "ended" } }]);
    await world.turn(agent, { text: "what became of it?", rounds: 0 });
    expect(JSON.stringify(agent.session.view().messages)).toContain(`${job?.id}`);
    expect(written()).toBe("it began\n");
  });
});

describe("/hooks", () => {
  test("names event, matcher, command and file of those in force, and says where the settings have others by now", async () => {
    const hook = { matcher: "bash", hooks: [{ type: "command", command: "true", timeout: 5 }] };
    const write = async (world: CompactionWorld, hooks: object): Promise<void> => {
      await mkdir(world.home, { recursive: true });
      await writeFile(join(world.home, "settings.json"), JSON.stringify({ hooks }));
    };
    const before = (one: CompactionWorld) => write(one, { PreToolUse: [hook] });
    const { world, chat } = await chatAbout([], { before, look: { columns: 300 } });
    await chat.run("/hooks");
    expect(chat.said()).toBe(`PreToolUse (bash)  true\n  ${join(world.home, "settings.json")}, at most 5 s`);
    await write(world, {});
    await chat.run("/hooks");
    expect(chat.said()).toContain("the new ones count from the next session on");
  });
});

describe("/resume, /new, /model, /policy, /quit", () => {
  test("another session is chosen by its title and opened; a new one is; the chat is left", async () => {
    const { world, agent, chat } = await chatAbout(["the first session"], { rounds: 0 });
    await chat.run("/resume");
    expect(chat.said()).toBe("This project has no other session yet.");
    const other = await world.open();
    await world.turn(other, { text: "Über die Kätzchen 猫 reden", rounds: 0 });
    await other.close();
    const { id } = other.session;
    chat.answers.choose = ({ choices }) => choices[0]?.value;
    expect(await chat.run("/resume")).toEqual({ kind: "open", session: { kind: "resume", id } });
    expect(chat.asked.choices[0]?.choices).toHaveLength(1);
    expect(chat.asked.choices[0]?.choices[0]).toMatchObject({ label: "Über die Kätzchen 猫 reden" });
    expect(chat.asked.choices[0]?.choices[0]?.description).toMatch(/^\d+ s ago, \d+ messages?, /);
    expect(await chat.run(`/resume ${id.slice(0, 10)}`)).toMatchObject({ kind: "open", session: { id } });
    expect(await chat.run(`/resume ${agent.session.id}`)).toEqual({ kind: "stay" });
    expect(await chat.run("/resume no-such")).toEqual({ kind: "stay" });
    expect(chat.said()).toMatch(/That is this session\.\nNo session of ours is called no-such\. \/resume/);
    for (const name of ["/new", "/clear"])
      expect(await chat.run(name)).toEqual({ kind: "open", session: { kind: "new" } });
    expect(await chat.run("/quit")).toEqual({ kind: "quit" });
  });

  test("the same session goes on with another model, or under another policy, by flags", async () => {
    const { agent, chat } = await chatAbout([], {});
    const session = { kind: "resume", id: agent.session.id } as const;
    chat.answers.choose = ({ choices }) => choices.find(({ value }) => value === "gpt-5" || value === "mask")?.value;
    expect(await chat.run("/model")).toEqual({ kind: "open", session, flags: [{ flag: "model", text: "gpt-5" }] });
    expect(chat.asked.choices[0]?.choices.some(({ label }) => label === "claude-sonnet-5 (answers now)")).toBe(true);
    const named = await chat.run("/model my-own-model");
    expect(named).toMatchObject({ kind: "open", flags: [{ text: "my-own-model" }] });
    expect(chat.said()).toContain("It is not known here");
    expect(await chat.run("/model claude-sonnet-5")).toEqual({ kind: "stay" });
    expect(await chat.run("/policy")).toEqual({ kind: "open", session, flags: [{ flag: "policy", text: "mask" }] });
    expect(chat.asked.choices.at(-1)?.title).toContain("balanced is in force");
    const thrifty = [
      { flag: "policy", text: "palimpsest" },
      { flag: "saving", text: "thrifty" },
    ];
    expect(await chat.run("/policy thrifty")).toEqual({ kind: "open", session, flags: thrifty });
    expect(await chat.run("/policy palimpsest")).toEqual({ kind: "stay" });
    chat.said();
    expect(await chat.run("/policy maks")).toEqual({ kind: "stay" });
    expect(chat.said()).toBe("No policy is called maks. Did you mean mask?");
  });

  test("a session in which nothing was said yet can be opened again under other flags", async () => {
    const { world, agent, chat } = await chatAbout([], {});
    const outcome = await chat.run("/policy mask");
    await agent.close();
    if (outcome.kind !== "open") throw new Error("it stays");
    const again = await world.open(outcome.session, { flags: [["policy", "mask"]] });
    expect(again.settings().policy.name).toBe("mask");
    await again.close();
  });
});

describe("/export", () => {
  test("writes the session in the form that is chosen or that the file's name says, and over no file", async () => {
    const { world, agent, chat } = await chatAbout(["write me down"], { rounds: 0 });
    chat.answers.choose = () => "md";
    await chat.run("/export");
    const path = join(world.work, `${agent.session.id}.md`);
    expect(chat.said()).toContain(`Written: ${path}.`);
    expect(await readFile(path, "utf8")).toContain("write me down");
    await chat.run("/export told.jsonl");
    expect(await readFile(join(world.work, "told.jsonl"), "utf8")).toContain("write me down");
    chat.said();
    await chat.run("/export told.jsonl");
    expect(chat.said()).toMatch(/told\.jsonl is there already\. Name another file/);
    await chat.run("/export told.pdf");
    expect(chat.said()).toContain("This is no format, and no file name that ends in one: ");
    await chat.run(`/export ${join(dirname(path), "nowhere", "x.md")}`);
    expect(chat.said()).toMatch(/There is no folder .*nowhere/);
  });
});

describe("/help", () => {
  test.each([100, 40])("lists every command that is here, and the keys, within %i columns", async (columns) => {
    const { chat } = await chatAbout([], { look: { columns } });
    await chat.run("/help");
    const said = chat.said();
    for (const word of ["/compact [--yes] [instructions]", "/rewind [message]", "/quit", "Shift-Tab"])
      expect(said).toContain(word);
    expect(said).toContain("/agents");
    expect(Math.max(...said.split("\n").map((line) => line.length))).toBeLessThanOrEqual(columns);
  });

  test("of one command tells its usage and its other names", async () => {
    const { chat } = await chatAbout([]);
    await chat.run("/help /compact");
    expect(chat.said()).toMatch(/^\/compact \[--yes\] \[instructions\]\n.*\n {2}also \/summarize, \/summarise$/);
    await chat.run("/help me");
    expect(chat.said()).toBe("There is no command /me. /help lists them.");
  });
});

describe("completions", () => {
  test.each<[SlashCompletion, string, string]>([
    ["commands", "comp", "compact"],
    ["models", "haiku-5", "claude-haiku-5-5"],
    ["policies", "opn", "opencode"],
    ["formats", "", "md"],
  ])("of %s for %j begin with %s", async (of, typed, first) => {
    const { chat, agent } = await chatAbout([]);
    expect((await completions(chat.context, { agent, of, typed }))[0]?.value).toBe(first);
  });

  test("of messages are ids under what was said; of nothing there are none", async () => {
    const { chat, agent } = await chatAbout(["先看配置文件", "then the rest"], { rounds: 0 });
    const found = await completions(chat.context, { agent, of: "messages", typed: "配置" });
    expect(found.map(({ label }) => label)).toEqual(["先看配置文件"]);
    expect(agent.session.fold.path.has(found[0]?.value as never)).toBe(true);
    expect(await completions(chat.context, { agent, of: "nothing", typed: "" })).toEqual([]);
  });
});
