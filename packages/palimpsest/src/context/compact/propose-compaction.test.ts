import { describe, expect, it } from "vitest";
import { compactingWorld, hooksOf, summaryRequests } from "../../../../../test/fixture/compacting.ts";
import { append, logBytes, reply, text, user } from "../../../../../test/fixture/session.ts";
import { handClock } from "../../../../../test/fixture/hand-clock.ts";
import { sentText } from "../../../../../test/scenario/support/clearing-world.ts";
import { createWorkingState } from "../../ports/working-state.ts";
import { entryId } from "../../schema/brand.ts";
import type { LoopEvent } from "../../schema/loop-event.ts";
import { keepAliveMillis } from "./limits.ts";
import { proposeCompaction } from "./propose-compaction.ts";

const phasesIn = (events: readonly LoopEvent[]): readonly string[] => [
  ...new Set(events.flatMap((event) => (event.kind === "compaction-progress" ? [event.phase] : []))),
];

/** A conversation with some work behind it. */
async function worked(
  options: Parameters<typeof compactingWorld>[0] = {},
  wishes: Parameters<ReturnType<typeof compactingWorld>["agent"]>[1] = {},
) {
  const world = compactingWorld(options);
  const agent = await world.agent("create", wishes);
  world.script.left = 4;
  await agent.turn("Look at the files.");
  return { world, agent };
}

describe("a switch", () => {
  it("turned off for compaction by hand says so, and nobody is asked", async () => {
    const { world, agent } = await worked({}, { flags: [["off", "compact.manual"]] });
    const { value } = await agent.propose({});
    expect(value).toMatchObject({ kind: "failed", reason: "switched_off" });
    expect(summaryRequests(world.seen)).toEqual([]);
  });
});

describe("PreCompact hooks", () => {
  it("add their instructions behind the user's, and show a line", async () => {
    const { hooks, told } = hooksOf({ PreCompact: { context: ["HOOK: name the branch"], messages: ["on it"] } });
    const { world, agent } = await worked({}, { over: { hooks } });
    const { events } = await agent.propose({ instructions: "PERSON: mind the parser" });
    expect(told).toContainEqual(
      expect.objectContaining({ name: "PreCompact", trigger: "manual", instructions: "PERSON: mind the parser" }),
    );
    expect(events).toContainEqual({ kind: "warning", code: "hook", message: "on it" });
    const [asked] = summaryRequests(world.seen);
    expect(sentText(asked)).toMatch(/PERSON: mind the parser.*HOOK: name the branch/);
  });

  it("block it before anybody is asked: nothing is paid, nothing is written", async () => {
    const { hooks } = hooksOf({ PreCompact: { blocked: { reason: "not today" } } });
    const { world, agent } = await worked({}, { over: { hooks } });
    const before = await logBytes(world.deps);
    const { value } = await agent.propose();
    expect(value).toEqual({ kind: "failed", reason: "blocked", message: "A hook does not allow it: not today" });
    expect(summaryRequests(world.seen)).toEqual([]);
    expect(await logBytes(world.deps)).toEqual(before);
  });

  it("of an automatic compaction that is blocked every time open no breaker", async () => {
    const { hooks } = hooksOf({ PreCompact: { blocked: { reason: "never" } } });
    const world = compactingWorld();
    const agent = await world.agent("create", { over: { hooks } });
    world.script.left = 30;
    const events = await agent.turn("Look at the files.");
    const failures = events.filter((event) => event.kind === "compaction-failed");
    expect(failures.length).toBeGreaterThan(3);
    for (const failure of failures) expect(failure).toMatchObject({ reason: "blocked", state: "trying" });
  });
});

describe("what people ask of summaries", () => {
  it("from the project's instructions stands in the prompt, before the user's", async () => {
    const wishes = () => Promise.resolve({ projectInstructions: "PROJECT: keep the table" });
    const { world, agent } = await worked({}, { compacting: { summaryOptions: wishes } });
    await agent.propose({ instructions: "PERSON: mind the parser" });
    expect(sentText(summaryRequests(world.seen)[0])).toMatch(/PROJECT: keep the table.*PERSON: mind the parser/);
  });

  it("by a prompt of their own takes the place of ours, and instructions without a place in it come behind it", async () => {
    const wishes = () => Promise.resolve({ template: "OURS: write it in <summary> tags. {{scope}}" });
    const { world, agent } = await worked({}, { compacting: { summaryOptions: wishes } });
    await agent.propose({ instructions: "PERSON: mind the parser" });
    const asked = sentText(world.seen.at(-1));
    expect(asked).toMatch(
      /OURS: write it in <summary> tags\. Write a summary of the whole conversation.*PERSON: mind the parser/,
    );
    expect(asked).not.toContain("Primary Request and Intent");
  });

  it("of a part: the fork sees no more of the conversation than is summarised, and the prompt says which part it is", async () => {
    const { world, agent } = await worked();
    world.script.left = 2;
    await agent.turn("Now the others.");
    const entry = agent.session.fold.projection.items.find(({ blocks }) =>
      JSON.stringify(blocks).includes("Now the others."),
    )?.entry;
    if (entry === undefined) throw new Error("no such message");
    await agent.propose({ part: { kind: "up_to", entry } });
    expect(sentText(summaryRequests(world.seen).at(-1))).not.toContain("Now the others.");
    await agent.propose({ part: { kind: "from", entry } });
    const later = sentText(summaryRequests(world.seen).at(-1));
    expect(later).toContain("Look at the files.");
    expect(later).toMatch(/later part of the conversation only.*starts: .{0,4}Now the others\./);
  });
});

describe("a summary by which the view would not become smaller", () => {
  it("is not the last word: one without a model is tried, and where that is no smaller either it is told what fills the view and what was paid", async () => {
    const world = compactingWorld();
    const agent = await world.agent("create");
    await agent.turn(`Keep this in mind: ${"some words of mine, ".repeat(300)}`);
    const { value, events } = await agent.propose({});
    expect(summaryRequests(world.seen).length).toBeGreaterThan(0);
    expect(phasesIn(events)).toContain("extract");
    expect(value).toMatchObject({ kind: "failed", reason: "still_over" });
    expect(value).toHaveProperty("message", expect.stringContaining("of it what you said, word for word"));
    expect(value).toHaveProperty("costNanos", expect.any(Number));
  });
});

describe("a proposal", () => {
  it("says what there is to say where there is nothing to compact, and of an entry that is not there", async () => {
    const world = compactingWorld();
    const agent = await world.agent("create");
    expect((await agent.propose()).value).toMatchObject({
      reason: "nothing_to_compact",
      message: "There is nothing to compact yet.",
    });
    const { agent: other } = await worked();
    const unknown = await other.propose({ part: { kind: "from", entry: entryId("nobody") } });
    expect(unknown.value).toMatchObject({
      reason: "nothing_to_compact",
      message: "No message of the view has the id nobody.",
    });
  });

  it("leaves log and view as they were until its commit", async () => {
    const { world, agent } = await worked();
    const [log, view] = [await logBytes(world.deps), agent.session.view().messages];
    const { value } = await agent.propose();
    expect(value.kind).toBe("proposed");
    expect(await logBytes(world.deps)).toEqual(log);
    expect(agent.session.view().messages).toEqual(view);
  });

  it("of the user's own text asks nobody, and passes the same gate", async () => {
    const { world, agent } = await worked();
    const { value } = await agent.propose({ summary: "## Current Work\nAll files were read." });
    expect(value).toMatchObject({
      kind: "proposed",
      proposal: { path: "given", calls: [], summary: "## Current Work\nAll files were read." },
    });
    expect((await agent.propose({ summary: "  " })).value).toMatchObject({ kind: "failed", reason: "no_summary" });
    expect(summaryRequests(world.seen)).toEqual([]);
  });

  it("tells at least twice a minute that it is alive", async () => {
    const clock = handClock();
    const world = compactingWorld();
    const wishes = async () => {
      await clock.advance(keepAliveMillis);
      await clock.advance(keepAliveMillis);
      return {};
    };
    const agent = await world.agent("create", {
      over: { now: clock.now, wait: clock.wait },
      compacting: { summaryOptions: wishes },
    });
    world.script.left = 4;
    await agent.turn("Look at the files.");
    const { events } = await agent.propose();
    const alive = events.filter((event) => event.kind === "compaction-progress" && event.phase === "hooks");
    expect(alive).toHaveLength(2);
  });
});

it("rounds that a summariser had no room for are told among the changes, and in the boundary", async () => {
  const world = compactingWorld();
  const agent = await world.agent("create", { windowTokens: 12_000 });
  for (let at = 0; at < 20; at += 1)
    await append(agent.session, user(`Do ${at}.`), reply(`m${at}`, text("words ".repeat(700))));
  const { value } = await agent.propose();
  if (value.kind !== "proposed") throw new Error(value.message);
  const { changes, unseenRounds = 0 } = value.proposal;
  expect(unseenRounds).toBeGreaterThan(1);
  expect(changes).toContain(
    `The summariser did not see the ${unseenRounds} oldest rounds: its window had no room for more.`,
  );
  expect((await agent.commit(value.proposal)).value.kind).toBe("committed");
  expect(agent.session.fold.projection.boundaries).toMatchObject([{ edit: { metadata: { unseenRounds } } }]);
});

describe("where the model fails", () => {
  it("goes on with the plain call, and by hand ends without a model, saying so", async () => {
    const { world, agent } = await worked();
    world.script.answers = ["refusal"];
    const { events, value } = await agent.propose();
    expect(phasesIn(events)).toEqual(["fork", "stream", "extract", "restore"]);
    expect(value).toMatchObject({
      kind: "proposed",
      proposal: { path: "extractive", instead: { reason: "no_summary" } },
    });
  });

  it("at the threshold fails, keeps the view and books what was paid", async () => {
    const { world, agent } = await worked();
    world.script.answers = ["refusal"];
    const view = agent.session.view().messages;
    const { value } = await agent.propose({ trigger: "auto", cause: "threshold" });
    expect(value).toMatchObject({ kind: "failed", reason: "no_summary" });
    expect(agent.session.view().messages).toEqual(view);
    const last = agent.session.fold.path.entries.at(-1);
    expect(last).toMatchObject({
      edit: { name: "compaction.spent", value: { trigger: "auto", calls: [{ path: "fork" }, { path: "stream" }] } },
    });
  });

  it.each(["limit", "overflow"] as const)(
    "at the %s ends without a model, so that the session goes on",
    async (cause) => {
      const { world, agent } = await worked();
      world.script.answers = ["500"];
      const { value } = await agent.propose({ trigger: "auto", cause });
      expect(value).toMatchObject({
        kind: "proposed",
        proposal: { path: "extractive", instead: { reason: "api_error" } },
      });
    },
  );
});

describe("a machine that does not read or write", () => {
  const eio = () => Promise.reject(new Error("EIO: i/o error"));

  it("costs the proposal, not who asks for it, however late they listen", async () => {
    const { agent } = await worked({}, { compacting: { facts: { facts: eio, unreadable: 0 } } });
    const { conversation, compacting } = agent;
    const ask = { trigger: "manual", cause: "person", part: { kind: "all" } } as const;
    const { signal } = new AbortController();
    const proposing = proposeCompaction(agent.deps, { conversation, compacting, ask, signal });
    await proposing.next();
    await new Promise((resolve) => setTimeout(resolve, 20));
    const events: LoopEvent[] = [];
    for (;;) {
      const next = await proposing.next();
      if (next.done !== true) events.push(next.value);
      else {
        expect(next.value).toMatchObject({ kind: "failed", reason: "unwritten" });
        break;
      }
    }
    expect(events.at(-1)).toMatchObject({ kind: "compaction-failed", trigger: "manual", reason: "unwritten" });
  });

  it.each(["limit", "overflow"] as const)(
    "at the %s there is a summary all the same, and a word of it",
    async (cause) => {
      const { world, agent } = await worked({}, { compacting: { facts: { facts: eio, unreadable: 0 } } });
      world.script.answers = ["refusal"];
      const { value, events } = await agent.compact({ trigger: "auto", cause });
      expect(value.kind).toBe("committed");
      expect(events).toContainEqual(expect.objectContaining({ kind: "warning", code: "compaction-facts" }));
      expect(JSON.stringify(agent.session.view().messages)).toContain("Look at the files.");
      const [boundary] = agent.session.fold.projection.boundaries;
      const checkpoint = boundary?.edit.type === "boundary" ? boundary.edit.metadata.checkpoint : undefined;
      const stored = checkpoint === undefined ? undefined : await world.deps.blobs.get(checkpoint);
      // What nobody could read must not count as all there was.
      expect(JSON.parse(new TextDecoder().decode(stored))).not.toHaveProperty("facts");
    },
  );

  it("while the user's instructions are read leaves the rung without a model", async () => {
    const { agent } = await worked({}, { compacting: { summaryOptions: eio } });
    const { value } = await agent.propose({ trigger: "auto", cause: "limit" });
    expect(value).toMatchObject({ kind: "proposed", proposal: { path: "extractive" } });
  });

  it("behind the calls books them", async () => {
    const { agent } = await worked();
    const place = () => {
      if (agent.session.fold.path.length > 0 && hooked) throw new Error("EIO: i/o error");
      hooked = true;
      return agent.deps.place();
    };
    let hooked = false;
    const { conversation, compacting } = agent;
    const ask = { trigger: "auto", cause: "threshold", part: { kind: "all" } } as const;
    const { signal } = new AbortController();
    const proposing = proposeCompaction({ ...agent.deps, place }, { conversation, compacting, ask, signal });
    for (;;) {
      const next = await proposing.next();
      if (next.done !== true) continue;
      expect(next.value).toMatchObject({ kind: "failed", reason: "unwritten" });
      break;
    }
    expect(agent.session.fold.path.entries.at(-1)).toMatchObject({
      edit: { name: "compaction.spent", value: { trigger: "auto", calls: [{ path: "fork" }] } },
    });
  });
});

describe("who stops listening", () => {
  /** Listens up to this event. */
  async function leftAt(isIt: (event: LoopEvent) => boolean) {
    const { world, agent } = await worked();
    const { conversation, compacting } = agent;
    const ask = { trigger: "manual", cause: "person", part: { kind: "all" } } as const;
    const { signal } = new AbortController();
    for await (const event of proposeCompaction(agent.deps, { conversation, compacting, ask, signal }))
      if (isIt(event)) break;
    return { world, agent };
  }

  it("at the beginning has nobody asked", async () => {
    const { world } = await leftAt(({ kind }) => kind === "compaction-start");
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(summaryRequests(world.seen)).toEqual([]);
  });

  it("at the end pays for what was asked, and finds it booked", async () => {
    const isLast = (event: LoopEvent) => event.kind === "compaction-progress" && event.phase === "restore";
    const { agent } = await leftAt(isLast);
    expect(agent.session.fold.path.entries.at(-1)).toMatchObject({
      edit: { name: "compaction.spent", value: { trigger: "manual", calls: [{ path: "fork" }] } },
    });
  });
});

describe("by hand", () => {
  it("a proposal that fails is closed by an event, as one that nobody asked for", async () => {
    const { agent } = await worked();
    const { events, value } = await agent.propose({ summary: "  " });
    if (value.kind !== "failed") throw new Error("an empty summary");
    const { reason, message } = value;
    expect(events.at(-1)).toEqual({ kind: "compaction-failed", trigger: "manual", reason, message, state: "trying" });
  });

  it("a warning says which of the user's instructions can't be read", async () => {
    const wishes = () => Promise.resolve({ warnings: ["Your prompt for summaries could not be read."] });
    const { agent } = await worked({}, { compacting: { summaryOptions: wishes } });
    const { events } = await agent.propose();
    expect(events).toContainEqual({
      kind: "warning",
      code: "compaction-wishes",
      message: "Your prompt for summaries could not be read.",
    });
  });
});

describe("an abort", () => {
  /** Aborts as soon as this is told. */
  async function abortedAt(isIt: (event: LoopEvent) => boolean) {
    const { world, agent } = await worked();
    const log = await logBytes(world.deps);
    const view = agent.session.view().messages;
    const abort = new AbortController();
    const ask = { trigger: "manual", cause: "person", part: { kind: "all" } } as const;
    const { conversation, compacting } = agent;
    const proposing = proposeCompaction(agent.deps, { conversation, compacting, ask, signal: abort.signal });
    for (;;) {
      const next = await proposing.next();
      if (next.done === true) return { world, agent, log, view, outcome: next.value };
      if (isIt(next.value)) abort.abort();
    }
  }

  it("before anybody was asked leaves the log as it was", async () => {
    const { world, log, outcome } = await abortedAt(({ kind }) => kind === "compaction-start");
    expect(outcome).toMatchObject({ kind: "failed", reason: "aborted" });
    expect(await logBytes(world.deps)).toEqual(log);
    expect(summaryRequests(world.seen)).toEqual([]);
  });

  it("while it is at its fork leaves the view as it was, and only what was paid is written", async () => {
    const isFork = (event: LoopEvent) => event.kind === "compaction-progress" && event.phase === "fork";
    const { agent, view, outcome } = await abortedAt(isFork);
    expect(outcome).toMatchObject({ kind: "failed", reason: "aborted" });
    expect(agent.session.view().messages).toEqual(view);
    const written = agent.session.fold.path.entries.filter((entry) => entry.kind === "edit");
    for (const entry of written) expect(entry.edit).toMatchObject({ type: "setting", name: "compaction.spent" });
  });

  it("while state is put back leaves the view as it was, and what was paid is written", async () => {
    const abort = new AbortController();
    const snapshot = () => {
      abort.abort();
      return Promise.resolve(undefined);
    };
    const parts = [{ name: "place", stability: 70, snapshot }];
    const { agent } = await worked({}, { compacting: { workingState: createWorkingState(parts) } });
    const view = agent.session.view().messages;
    const { value } = await agent.propose({}, abort.signal);
    expect(value).toMatchObject({ kind: "failed", reason: "aborted" });
    expect(agent.session.view().messages).toEqual(view);
    expect(agent.session.fold.path.entries.at(-1)).toMatchObject({
      edit: { name: "compaction.spent", value: { trigger: "manual" } },
    });
  });
});
