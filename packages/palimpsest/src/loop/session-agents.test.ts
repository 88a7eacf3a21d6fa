import { expect, it, vi } from "vitest";
import { openedForTest, reopened, testDeps } from "../../../../test/fixture/session.ts";
import { CostLedger } from "../cache/cost-ledger.ts";
import type { AgentHost, AgentSpec, OpenConversationOutcome } from "../ports/agent-host.ts";
import type { Agents } from "../ports/agents.ts";
import type { AgentRequest } from "../schema/agent-run.ts";
import { millis } from "../schema/brand.ts";
import type { Session } from "../session/session.ts";
import { readRecords } from "./agent-records.ts";
import { SessionAgents } from "./session-agents.ts";

/** Stands for an agent's conversation: each turn goes on until it is told to answer. */
interface FakeTurn {
  readonly mail: number;
  readonly answer: () => void;
}

interface World {
  readonly agents: Agents;
  readonly opened: AgentSpec[];
  readonly turns: FakeTurn[];
  readonly closing: { until?: Promise<void> };
  readonly opening: { until?: Promise<OpenConversationOutcome> };
}

function world(session: Session): World {
  const [opened, turns]: [AgentSpec[], FakeTurn[]] = [[], []];
  const [closing, opening]: [World["closing"], World["opening"]] = [{}, {}];
  const host: AgentHost = {
    types: async () => ["general"],
    read: async () => undefined,
    open: async (spec) => {
      opened.push(spec);
      if (opening.until !== undefined) return await opening.until;
      const conversation = {
        model: "m",
        turn: async function* ({ signal }: { readonly signal: AbortSignal }) {
          const over = Promise.withResolvers<"answered" | "aborted">();
          signal.addEventListener("abort", () => over.resolve("aborted"));
          turns.push({ mail: spec.takeMail().length, answer: () => over.resolve("answered") });
          yield { kind: "turn-end", reason: signal.aborted ? "aborted" : await over.promise } as const;
        },
        close: async () => {
          await closing.until;
          return {};
        },
      };
      return { kind: "open", conversation };
    },
  };
  let id = 0;
  const agents = new SessionAgents(
    {
      host,
      now: () => millis(1),
      uuid: () => `0000000${++id}-0000-4000-8000-000000000000`,
      wait: async () => undefined,
      hooks: { fire: async () => ({ context: [], messages: [], warnings: [] }) },
      place: () => ({ session: session.id, transcriptPath: "", cwd: "/" }),
      moneyMax: () => undefined,
    },
    { session, costs: new CostLedger() },
  );
  return { agents: agents.main, opened, turns, closing, opening };
}

const request = (name: string): AgentRequest => ({
  type: "general",
  name,
  description: "a part",
  prompt: "Do it.",
  place: "background",
  worktree: "shared",
});

const turnsOf = ({ turns }: World, count: number): Promise<void> =>
  vi.waitFor(() => expect(turns).toHaveLength(count), { interval: 1 });

it.each([
  ["General", "general"],
  ["general-purpose", "general"],
  ["Fork", "fork"],
])("the type %s is %s", async (written, type) => {
  const here = world(await openedForTest(testDeps()));
  expect(await here.agents.start({ ...request("one"), type: written, name: undefined })).toMatchObject({
    kind: "started",
    run: { type, name: type },
  });
  expect(here.opened).toMatchObject([{ type }]);
  await here.agents.close();
});

it("a message that comes while an agent is closed is not lost: it goes on with it", async () => {
  const here = world(await openedForTest(testDeps()));
  await here.agents.start(request("one"));
  await turnsOf(here, 1);
  const closed = Promise.withResolvers<void>();
  here.closing.until = closed.promise;
  here.turns[0]?.answer();
  await new Promise((resolve) => setImmediate(resolve));
  const sent = here.agents.send({ to: "one", text: "Wait.", from: { kind: "user" } });
  closed.resolve();
  expect(await sent).toMatchObject({ kind: "resumed" });
  await turnsOf(here, 2);
  expect(here.turns[1]?.mail).toBe(1);
  expect(here.opened.map(({ mode }) => mode)).toEqual(["new", "resume"]);
  await here.agents.close();
});

it("an agent that can't be opened keeps nobody waiting who closes the session meanwhile", async () => {
  const here = world(await openedForTest(testDeps()));
  const opening = Promise.withResolvers<OpenConversationOutcome>();
  here.opening.until = opening.promise;
  const started = here.agents.start(request("one"));
  await vi.waitFor(() => expect(here.opened).toHaveLength(1));
  const closed = here.agents.close();
  opening.resolve({ kind: "refused", message: "no worktree" });
  expect(await started).toEqual({ kind: "refused", message: "no worktree" });
  await closed;
  expect(here.agents.list()).toEqual([]);
});

it("an agent that goes on does not wait for agents of its own that were lost", async () => {
  const deps = testDeps();
  const session = await openedForTest(deps);
  const before = world(session);
  await before.agents.start(request("outer"));
  await vi.waitFor(() => expect(before.opened).toHaveLength(1));
  await before.opened[0]?.agents.start(request("inner"));
  const here = world(await reopened(deps, session));
  expect(here.agents.list().map(({ name, state }) => `${name} ${state.kind}`)).toEqual(["outer lost", "inner lost"]);
  await here.agents.send({ to: "outer", text: "Go on.", from: { kind: "user" } });
  await turnsOf(here, 1);
  here.turns[0]?.answer();
  await vi.waitFor(() => expect(here.agents.list()[0]?.state.kind).toBe("ended"));
  const inner = await here.agents.send({ to: "inner", text: "You too.", from: { kind: "user" } });
  expect(inner).toMatchObject({ kind: "refused" });
});

it("nothing is started or goes on once the session is being closed", async () => {
  const here = world(await openedForTest(testDeps()));
  await here.agents.start(request("one"));
  await turnsOf(here, 1);
  await here.agents.close();
  const message = "The session is being closed.";
  expect(await here.agents.start(request("two"))).toEqual({ kind: "refused", message });
  expect(await here.agents.send({ to: "one", text: "Go on.", from: { kind: "user" } })).toEqual({
    kind: "refused",
    message,
  });
});

it("two agents that end together are both off the record", async () => {
  const session = await openedForTest(testDeps());
  const here = world(session);
  await here.agents.start(request("one"));
  await here.agents.start(request("two"));
  await turnsOf(here, 2);
  for (const turn of here.turns) turn.answer();
  await vi.waitFor(() => expect(here.agents.list().every(({ state }) => state.kind === "ended")).toBe(true));
  expect(readRecords(session.fold)).toEqual([]);
});

it("what the close of a session stops stays on record, all of it", async () => {
  const session = await openedForTest(testDeps());
  const here = world(session);
  await here.agents.start(request("one"));
  await here.agents.start(request("two"));
  await turnsOf(here, 2);
  await here.agents.close();
  expect(readRecords(session.fold).map(({ name }) => name)).toEqual(["one", "two"]);
});

it("who waits for an agent gets its report, also if a message makes it go on at once", async () => {
  const here = world(await openedForTest(testDeps()));
  const started = await here.agents.start(request("one"));
  if (started.kind !== "started") throw new Error(started.message);
  await turnsOf(here, 1);
  const waiting = here.agents.wait(started.run.id, new AbortController().signal);
  const closed = Promise.withResolvers<void>();
  here.closing.until = closed.promise;
  here.turns[0]?.answer();
  await new Promise((resolve) => setImmediate(resolve));
  const sent = here.agents.send({ to: "one", text: "More.", from: { kind: "user" } });
  closed.resolve();
  expect((await waiting)?.state.kind).toBe("ended");
  expect((await sent).kind).toBe("resumed");
  await here.agents.close();
});

it("messages to an agent that has ended come in their order", async () => {
  const here = world(await openedForTest(testDeps()));
  await here.agents.start(request("one"));
  await turnsOf(here, 1);
  here.turns[0]?.answer();
  await vi.waitFor(() => expect(here.agents.list()[0]?.state.kind).toBe("ended"));
  const send = (text: string) => here.agents.send({ to: "one", text, from: { kind: "user" } });
  const outcomes = await Promise.all([send("first"), send("second")]);
  expect(outcomes.map(({ kind }) => kind)).toEqual(["resumed", "queued"]);
  await turnsOf(here, 2);
  await here.agents.close();
});

it("a lost agent that is stopped is off the record", async () => {
  const deps = testDeps();
  const session = await openedForTest(deps);
  const before = world(session);
  await before.agents.start(request("one"));
  await turnsOf(before, 1);
  await before.agents.close();
  const here = world(session);
  const [lost] = here.agents.list();
  expect(lost?.state.kind).toBe("lost");
  if (lost !== undefined) await here.agents.stop(lost.id);
  expect(readRecords(session.fold)).toEqual([]);
});

it("a message to all reaches those that run, the main conversation too, and never its sender", async () => {
  const here = world(await openedForTest(testDeps()));
  await here.agents.start(request("one"));
  await here.agents.start(request("two"));
  await turnsOf(here, 2);
  const fromOne = { kind: "agent", name: "one" } as const;
  expect(await here.agents.send({ to: "*", text: "Hello.", from: fromOne })).toEqual({
    kind: "all",
    names: ["main", "two"],
  });
  expect(here.agents.takeNews()).toHaveLength(1);
  const fromMain = { kind: "agent", name: "main" } as const;
  expect(await here.agents.send({ to: "*", text: "Hello.", from: fromMain })).toEqual({
    kind: "all",
    names: ["one", "two"],
  });
  expect(here.agents.takeNews()).toEqual([]);
  await here.agents.close();
});

it("an agent that has ended starts no agents", async () => {
  const here = world(await openedForTest(testDeps()));
  const outer = await here.agents.start(request("outer"));
  if (outer.kind !== "started") throw new Error(outer.message);
  await turnsOf(here, 1);
  const own = here.opened[0]?.agents;
  await here.agents.stop(outer.run.id);
  expect(await own?.start(request("inner"))).toMatchObject({ kind: "refused" });
  expect(here.agents.list().map(({ name }) => name)).toEqual(["outer"]);
});
