import Anthropic from "@anthropic-ai/sdk";
import { expect, it } from "vitest";
import {
  type ContextEvent,
  memoryStore,
  millis,
  openContext,
  openSession,
  type SessionDeps,
  sessionId,
} from "../../packages/palimpsest/src/index.ts";
import {
  type AgentHost,
  CostLedger,
  type LoopEvent,
  nanoUsd,
  noHooks,
  SessionAgents,
} from "../../packages/palimpsest/src/loop/index.ts";
import { simulatorFetch } from "../../packages/simulator/src/http/simulator-fetch.ts";
import { Simulator } from "../../packages/simulator/src/simulator.ts";
import { answering, say, when } from "./support/agents-world.ts";

const model = "claude-sonnet-5-5";

/** Opens a context for each agent and runs it: all of it on public names. */
function contextHost(client: Anthropic): AgentHost {
  return {
    types: async () => ["reader"],
    read: async () => undefined,
    open: async (spec) => {
      const events: ContextEvent[] = [];
      const context = await openContext({ model, system: "You read.", onEvent: (event) => events.push(event) });
      return {
        kind: "open",
        conversation: {
          model,
          turn: async function* ({ text = "", signal }): AsyncGenerator<LoopEvent> {
            await context.user(text);
            const reply = await client.messages.create((await context.next({ signal })).params);
            await context.assistant(reply);
            spec.onPaid({ model, usage: { ...reply.usage } as never });
            yield* events.splice(0);
            yield { kind: "turn-end", reason: "answered" };
          },
          close: async () => {
            await context.close();
            return {};
          },
        },
      };
    },
  };
}

async function opened({ moneyMax = Infinity } = {}) {
  const simulator = new Simulator({ responder: answering(when("PARSER", say("It is in a.ts."))) });
  const client = new Anthropic({ apiKey: "k", maxRetries: 0, baseURL: "http://s", fetch: simulatorFetch(simulator) });
  const store = await memoryStore().open();
  if (store.kind === "failed") throw new Error(store.message);
  const deps: SessionDeps = { ...store, now: () => millis(Date.now()), uuid: () => crypto.randomUUID() };
  const id = sessionId("s1");
  const session = await openSession(deps, { id, mode: "create", circumstances: { cwd: "/", version: "1" } });
  if (session.kind !== "open") throw new Error(session.kind);
  const costs = new CostLedger();
  const agents = new SessionAgents(
    {
      ...deps,
      hooks: noHooks,
      place: () => ({ session: id, cwd: "/" }),
      wait: () => new Promise(() => undefined),
      host: contextHost(client),
      moneyMax: () => nanoUsd(moneyMax),
    },
    { session: session.session, costs },
  );
  return { agents: agents.main, costs };
}

const task = { type: "reader", description: "look", place: "foreground", worktree: "shared" } as const;
const never = new AbortController().signal;

it("a program can run typed agents with SessionAgents and a host of its own, and gets their reports and costs", async () => {
  const { agents, costs } = await opened();
  const started = await agents.start({ ...task, prompt: "Find the PARSER." });
  if (started.kind !== "started") throw new Error(started.message);
  const run = await agents.wait(started.run.id, never);
  expect(run?.state).toMatchObject({ kind: "ended", how: "answered", report: /It is in a\.ts\./ });
  expect(run?.usage.nanos).toBeGreaterThan(0);
  expect(costs.toJSON().byAgent["reader"]?.requests).toBe(1);
  await agents.close();
});

it("its limits hold for programs too: unknown types, and money", async () => {
  const { agents } = await opened({ moneyMax: 1 });
  expect(await agents.start({ ...task, type: "writer", prompt: "Go." })).toMatchObject({
    kind: "refused",
    message: /reader, fork/,
  });
  const started = await agents.start({ ...task, prompt: "Find the PARSER." });
  if (started.kind !== "started") throw new Error(started.message);
  await agents.wait(started.run.id, never);
  expect(await agents.start({ ...task, prompt: "Once more." })).toMatchObject({ kind: "refused" });
  await agents.close();
});
