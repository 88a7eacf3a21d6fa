import { describe, expect, it } from "vitest";
import { type CompactingAgent, compactingWorld, type AgentWishes } from "../../../../../test/fixture/compacting.ts";
import { append, reply, text, user } from "../../../../../test/fixture/session.ts";
import type { ModelFailure, ModelPort } from "../../ports/model-port.ts";
import type { LoopEvent } from "../../schema/loop-event.ts";
import { countFailures } from "../compact/breaker-state.ts";
import type { EditableLine, Line } from "../line.ts";
import { runTurn } from "../../loop/run-turn.ts";

/** A turn whose first replies break off where the provider's window ends. */
async function cutOff(times: number, flags: AgentWishes["flags"] = []): Promise<readonly LoopEvent[]> {
  const world = compactingWorld();
  const agent = await world.agent("create", { flags });
  world.script.left = 4;
  await agent.turn("Look at the files.");
  const { model } = agent.deps;
  let sent = 0;
  const send: ModelPort["send"] = async function* (request, signal) {
    sent += 1;
    const isCut = sent <= times;
    for await (const event of model.send(request, signal))
      yield event.kind === "reply-end" && isCut ? { ...event, stopReason: "model_context_window_exceeded" } : event;
  };
  const events: LoopEvent[] = [];
  const { signal } = new AbortController();
  const context = { ...agent, deps: { ...agent.deps, model: { ...model, send } } };
  for await (const event of runTurn(context, { ...agent, text: "Go on.", signal })) events.push(event);
  return events;
}

/** Of compactions that were tried. */
const causesIn = (events: readonly LoopEvent[]): readonly string[] =>
  events.flatMap((event) => (event.kind === "compaction-start" ? [event.cause] : []));

describe("a reply that breaks off where the provider's window ends", () => {
  it.each<{ what: string; times: number; flags?: AgentWishes["flags"]; causes: readonly string[]; reason: string }>([
    { what: "is asked for again behind a summary", times: 1, causes: ["overflow"], reason: "answered" },
    { what: "the second time in a row is told", times: 2, causes: ["overflow"], reason: "over-limit" },
    {
      what: "is told at once where reactive compaction is off",
      times: 1,
      flags: [["off", "compact.reactive"]],
      causes: [],
      reason: "over-limit",
    },
    {
      what: "is asked for again where only automatic compaction is off, as a request is that was too long",
      times: 1,
      flags: [["off", "compact.auto"]],
      causes: ["overflow"],
      reason: "answered",
    },
  ])("$what", async ({ times, flags, causes, reason }) => {
    const events = await cutOff(times, flags);
    expect(causesIn(events)).toEqual(causes);
    expect(events.at(-1)).toMatchObject({ kind: "turn-end", reason });
  });
});

const badRequest: ModelFailure = { why: "refused", retry: "never", message: "Bad Request" };
const badSignature: ModelFailure = { ...badRequest, message: "Invalid signature in thinking block", part: "thinking" };
const badKey: ModelFailure = { why: "unauthorised", retry: "never", message: "No such key" };
const noNetwork: ModelFailure = { why: "network", retry: "never", message: "The connection failed" };

/** An agent with thinking in its history, whose provider fails as it is told, then answers. */
async function failing(failures: () => ModelFailure | undefined) {
  const world = compactingWorld();
  const agent = await world.agent("create");
  const thinking = { type: "thinking", thinking: "Hm.", signature: "elsewhere" } as const;
  await append(agent.session, user("Think."), reply("msg_1", thinking, text("Thought.")));
  const { model } = agent.deps;
  const send: ModelPort["send"] = async function* (request, signal) {
    const failure = failures();
    if (failure === undefined) yield* model.send(request, signal);
    else yield { kind: "failure", failure };
  };
  return { ...agent, deps: { ...agent.deps, model: { ...model, send } } };
}

async function turn(agent: CompactingAgent, said: string): Promise<readonly LoopEvent[]> {
  const events: LoopEvent[] = [];
  const { signal } = new AbortController();
  for await (const event of runTurn(agent, { text: said, signal, queue: agent.queue })) events.push(event);
  return events;
}

const kindsIn = (events: readonly LoopEvent[]): readonly string[] => events.map(({ kind }) => kind);

describe("a provider that refuses whatever it is sent", () => {
  it("says nothing of the summariser, which nobody asked: the breaker stays closed", async () => {
    const agent = await failing(() => badRequest);
    for (const said of ["One.", "Two.", "Three."]) {
      const events = await turn(agent, said);
      expect(causesIn(events)).toEqual(["refused"]);
      expect(kindsIn(events)).toContain("compacted");
    }
    expect(countFailures(agent.session.fold)).toBe(0);
  });

  it("leaves the view plainer where the disk refuses to take it back, and says so instead of telling of an edit", async () => {
    const agent = await failing(() => badRequest);
    const { line } = agent.conversation;
    const conversation = { ...agent.conversation, line: withoutUndo(line) };
    const events = await turn({ ...agent, conversation }, "Go on.");
    expect(kindsIn(events)).not.toContain("edit");
    expect(events.filter(({ kind }) => kind === "warning")).toEqual([
      {
        kind: "warning",
        code: "undo-failed",
        message: "Content that was left out of the refused request could not be restored: The disk is full.",
      },
    ]);
  });
});

describe("a failure that says nothing about the body", () => {
  it.each([badKey, noNetwork])("$why leaves what was left out as it is: once and for all", async (failure) => {
    const failures = [badSignature, failure];
    const agent = await failing(() => failures.shift());
    const failed = await turn(agent, "Go on.");
    expect(failed.at(-1)).toMatchObject({ kind: "turn-end", reason: "failed" });
    expect(kindsIn(failed)).toContain("left-out");
    expect(kindsIn(failed)).not.toContain("edit");
    expect(JSON.stringify(agent.session.view().messages)).not.toContain("elsewhere");
    const answered = await turn(agent, "Again.");
    expect(answered.at(-1)).toMatchObject({ reason: "answered" });
    expect(kindsIn(answered)).not.toContain("left-out");
  });
});

/** The line over a disk that takes everything but undos. */
function withoutUndo(line: Line): Line {
  const full = { kind: "failed", why: "disk-full", message: "The disk is full." } as const;
  const overridden = <Target extends object>(target: Target, own: Partial<Target>): Target =>
    new Proxy(target, {
      get: (_target, key) => {
        const value: unknown = Reflect.get(key in own ? own : target, key);
        const bound: unknown = typeof value === "function" ? value.bind(target) : value;
        return bound;
      },
    });
  const editable = line.editable ?? expect.unreachable();
  const edit: EditableLine["edit"] = (input) =>
    input.nature === "undone" ? Promise.resolve(full) : editable.edit(input);
  return overridden(line, { editable: overridden(editable, { edit }) });
}
