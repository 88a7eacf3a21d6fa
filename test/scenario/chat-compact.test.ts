import { describe, expect, onTestFinished, test } from "vitest";
import type { Agent } from "../../packages/cli/src/agent/agent.ts";
import type { ChatAction } from "../../packages/cli/src/tui/state/update-chat.ts";
import { type CompactionWorld, compactionWorld, taskText } from "./support/compaction-world.ts";
import { slashWorld } from "./support/slash-world.ts";

const flags = [["off", "compact.auto"] as const, ["off", "notes"] as const];

interface Talked {
  readonly world: CompactionWorld;
  readonly agent: Agent;
}

/** An agent with which the user has talked, a task a text. */
async function talked(texts: readonly string[], rounds = 4): Promise<Talked> {
  const world = await compactionWorld();
  const agent = await world.open({ kind: "new" }, { flags, beside: { jobs: "on" } });
  onTestFinished(() => agent.close());
  for (const text of texts) await world.turn(agent, { text, rounds });
  return { world, agent };
}

const viewOf = ({ session }: Agent): string => JSON.stringify(session.view().messages);
const boundariesOf = ({ session }: Agent): number => session.fold.projection.boundaries.length;
const isEvent = (kind: string) => (act: ChatAction) => act.kind === "event" && act.event.kind === kind;

describe("/compact", () => {
  test("shows what is kept, tokens and money and the audit beside the summary, and commits it; /undo restores the view byte for byte", async () => {
    const { world, agent } = await talked([taskText(0), taskText(1)]);
    const chat = slashWorld(world, agent);
    const before = viewOf(agent);
    chat.answers.preview = () => "commit";
    expect(await chat.run("/compact keep the codewords")).toEqual({ kind: "stay" });
    const [preview] = chat.asked.previews;
    expect(preview?.title).toBe("Compact everything that was said");
    const facts = preview?.facts.join("\n") ?? "";
    for (const label of ["entries", "context", "money", "audit"])
      expect(facts).toMatch(new RegExp(`^  ${label} `, "m"));
    expect(facts).toMatch(/[\d,]+ → [\d,]+ tokens/);
    expect(preview?.text).not.toBe("");
    expect(boundariesOf(agent)).toBe(1);
    expect(chat.acts.some(isEvent("compacted"))).toBe(true);
    expect(chat.said()).toMatch(/Compacted: [\d,]+ → [\d,]+ tokens.*\nAudit \d+%.*\/undo brings back/);
    expect(viewOf(agent)).not.toBe(before);
    expect(chat.state().phase).toEqual({ kind: "idle" });

    await chat.run("/undo");
    expect(viewOf(agent)).toBe(before);
    expect(chat.said()).toMatch(
      /undone: boundary [\s\S]*tokens +[\d,]+ → [\d,]+[\s\S]*context +now about [\d,]+ tokens/,
    );
    const next = await world.turn(agent, { text: "go on", rounds: 1 });
    expect(next.at(-1)).toMatchObject({ kind: "turn-end", reason: "answered" });
    expect(next.filter(({ kind }) => kind === "cache-break")).toEqual([]);
  });

  test("while the summary is looked at, what was paid for it is in the money that is shown", async () => {
    const { world, agent } = await talked([taskText(0)]);
    const chat = slashWorld(world, agent);
    const before = agent.context.conversation.costs.session.totalNanos;
    const shown: number[] = [];
    chat.answers.preview = () => {
      shown.push(chat.state().status.costNanos);
      return "cancel";
    };
    await chat.run("/compact");
    expect(shown[0]).toBeGreaterThan(before);
  });

  test("with --yes nobody is asked", async () => {
    const { world, agent } = await talked([taskText(0)]);
    const chat = slashWorld(world, agent);
    await chat.run("/summarize --yes");
    expect(chat.asked.previews).toEqual([]);
    expect(boundariesOf(agent)).toBe(1);
  });

  test("cancelled, the view and the log's view are as they were, and what the summary cost is said", async () => {
    const { world, agent } = await talked([taskText(0)]);
    const chat = slashWorld(world, agent);
    const before = viewOf(agent);
    await chat.run("/compact");
    expect(viewOf(agent)).toBe(before);
    expect(boundariesOf(agent)).toBe(0);
    expect(chat.said()).toMatch(/Not compacted: the view is as it was\.\n\$[\d.]+ was paid for the summary\./);
    expect(chat.state().phase).toEqual({ kind: "idle" });
  });

  test("an edit is proposed again; what was refused is where the next edit goes on", async () => {
    const { world, agent } = await talked([taskText(0), taskText(1)]);
    const chat = slashWorld(world, agent);
    const good =
      "The person wants the values explained. Modules 3 and 4 were read, nothing is broken, the list is open.";
    const tooLong = "word ".repeat(30_000).trim();
    const texts = ["   ", tooLong, good];
    chat.answers.preview = () => (texts.length > 0 ? "edit" : "commit");
    chat.answers.edit = () => texts.shift();
    await chat.run("/compact");
    const [first, second, third] = chat.asked.edits.map(({ text }) => text);
    expect(second).toBe(first);
    expect(third).toBe(tooLong);
    const said = chat.said();
    expect(said).toContain("An empty summary is none.");
    expect(said).toContain("This summary can't be used");
    expect(chat.asked.previews.at(-1)?.text).toContain("Modules 3 and 4 were read");
    expect(viewOf(agent)).toContain("Modules 3 and 4 were read");
    expect(boundariesOf(agent)).toBe(1);
  });

  test("Esc while the summary is on its way, and while it is looked at, leaves the view as it was", async () => {
    const { world, agent } = await talked([taskText(0)]);
    const before = viewOf(agent);
    const chat = slashWorld(world, agent);
    world.summariser.answers = ["hangs", "good"];
    const running = chat.run("/compact");
    await expect.poll(() => chat.state().phase.kind).toBe("compacting");
    await expect.poll(() => world.summariser.asked.length).toBeGreaterThan(0);
    chat.stop();
    expect(await running).toEqual({ kind: "stay" });
    expect(viewOf(agent)).toBe(before);
    expect(chat.asked.previews).toEqual([]);
    expect(chat.said()).toContain("Not compacted: the view is as it was.");
    expect(chat.state().phase).toEqual({ kind: "idle" });

    chat.answers.preview = () => {
      chat.stop();
      return "commit";
    };
    await chat.run("/compact");
    expect(viewOf(agent)).toBe(before);
    expect(boundariesOf(agent)).toBe(0);
    expect(chat.said()).toContain("Not compacted: the view is as it was.");
  });

  test("where there is nothing to compact it says what to look at", async () => {
    const { world, agent } = await talked([]);
    const chat = slashWorld(world, agent);
    await chat.run("/compact");
    expect(chat.said()).toMatch(/Not compacted: .*\n\/context shows what fills the window\./);
  });
});

describe("/rewind", () => {
  const cjk = "第二个任务：请把所有模块的常量整理成一张表，并解释用途。";

  test("lists the user's messages newest first, restores the conversation to before one and hands it back; nothing is lost", async () => {
    const { world, agent } = await talked([taskText(0), cjk, taskText(2)]);
    const chat = slashWorld(world, agent);
    const { session } = agent;
    const whole = viewOf(agent);
    const entries = session.fold.path.length;
    chat.answers.choose = ({ choices }) =>
      choices.find(({ label, value }) => label === cjk || value === "restore")?.value;
    await chat.run("/rewind");
    const [list, menu] = chat.asked.choices;
    expect(list?.choices.map(({ label }) => label)).toEqual([taskText(2), cjk, taskText(0)]);
    expect(list?.search).toBe("typed");
    expect(menu?.choices.map(({ value }) => value)).toEqual(["restore", "from", "up_to", "nothing"]);
    expect(chat.refilled).toEqual([cjk]);
    expect(viewOf(agent)).not.toContain(cjk);
    expect(viewOf(agent)).toContain(taskText(0).slice(0, 20));
    expect(session.fold.path.length).toBeLessThan(entries);
    const said = chat.said();
    expect(said).toContain("Files were not changed");
    expect(said).toMatch(/with about [\d,]+ tokens/);

    await chat.run("/recall 模块的常量");
    expect(chat.said()).toContain("模块的常量");

    const next = await world.turn(agent, { text: "Something else.", rounds: 2 });
    expect(next.at(-1)).toMatchObject({ kind: "turn-end", reason: "answered" });
    expect(next.filter(({ kind }) => kind === "cache-break" || kind === "warning")).toEqual([]);
    expect(viewOf(agent)).toContain("Something else.");

    await chat.run("/undo");
    expect(viewOf(agent)).toBe(whole);
  });

  test("what the agent keeps beside the log follows: a file that only the left branch has read counts as unread", async () => {
    const { world, agent } = await talked([taskText(0)], 2);
    const chat = slashWorld(world, agent);
    const known = () => Array.from(agent.context.conversation.files.entries(), ([path]) => path).toSorted();
    const [before, tokensBefore] = [known(), agent.session.ledger.size.tokens];
    await world.turn(agent, { text: taskText(1), rounds: 6 });
    expect(known().length).toBeGreaterThan(before.length);
    chat.answers.choose = ({ choices }) => (choices.find(({ value }) => value === "restore") ?? choices[0])?.value;
    await chat.run("/rewind");
    expect(known()).toEqual(before);
    expect(agent.session.ledger.size.tokens).toBe(tokensBefore);
  });

  test("before the very first message nothing is left of the conversation, and it goes on", async () => {
    const { world, agent } = await talked([taskText(0)]);
    const chat = slashWorld(world, agent);
    chat.answers.choose = ({ choices }) => (choices.find(({ value }) => value === "restore") ?? choices.at(-1))?.value;
    await chat.run("/rewind");
    expect(agent.session.view().messages).toEqual([]);
    const next = await world.turn(agent, { text: "Anew.", rounds: 1 });
    expect(next.at(-1)).toMatchObject({ kind: "turn-end", reason: "answered" });
  });

  test.each([
    ["from", [taskText(0)], [taskText(2).slice(0, 24)]],
    ["up_to", [cjk, taskText(2)], []],
  ] as const)("summarises %s a message, with the same look at it as /compact", async (part, kept, gone) => {
    const { world, agent } = await talked([taskText(0), cjk, taskText(2)]);
    const chat = slashWorld(world, agent);
    chat.answers.choose = ({ choices }) => choices.find(({ label, value }) => label === cjk || value === part)?.value;
    chat.answers.preview = () => "commit";
    const messages = agent.session.view().messages.length;
    await chat.run("/rewind");
    expect(chat.asked.previews).toHaveLength(1);
    expect(boundariesOf(agent)).toBe(1);
    const view = agent.session.view().messages;
    expect(view.length).toBeLessThan(messages);
    const texts = view.flatMap(({ content }) =>
      content.flatMap((block) => (block.type === "text" ? [block.text] : [])),
    );
    for (const text of kept) expect(texts).toContain(text);
    for (const text of gone) expect(texts.filter((one) => one.startsWith(text))).toEqual([]);
    expect(chat.refilled).toEqual([]);
  });

  test("a message can be named by the beginning of its id; an unknown one is told, and never mind changes nothing", async () => {
    const { world, agent } = await talked([taskText(0), taskText(1)]);
    const chat = slashWorld(world, agent);
    const before = viewOf(agent);
    const first = agent.session.fold.path.entries.find(({ kind }) => kind === "user")?.id ?? "";
    await chat.run(`/rewind ${first.slice(0, 12)}`);
    expect(chat.asked.choices.map(({ title }) => title)).toEqual([taskText(0)]);
    await chat.run("/rewind nothing-like-it");
    expect(chat.said()).toBe("No message of yours is called nothing-like-it. /rewind without a name lists them.");
    expect(viewOf(agent)).toBe(before);
  });
});
