import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { SessionChoice } from "../../packages/cli/src/agent/agent-options.ts";
import type { Agent } from "../../packages/cli/src/agent/agent.ts";
import { openAgent } from "../../packages/cli/src/agent/open-agent.ts";
import type { CostSource } from "../../packages/palimpsest/src/cache/cost-ledger.ts";
import { echoResponder } from "../../packages/simulator/src/responder/echo-responder.ts";
import { userDraft } from "../../packages/palimpsest/src/transcript/draft.ts";
import { compact, compactionWorld, type OpenWishes, propose, taskText } from "./support/compaction-world.ts";
import type { SummaryAnswer } from "./support/summary-answers.ts";
import { turn } from "./support/whole-agent.ts";

const costsOf = ({ context: { conversation } }: Agent): object => {
  const { session, bySource } = conversation.costs.toJSON();
  const { nanosByKind, tokensByKind, totalNanos } = session;
  const paid = Object.entries(bySource).map(([source, one]) => [source, [one.requests, one.totalNanos]] as const);
  return { nanosByKind, tokensByKind, totalNanos, paid: Object.fromEntries(paid) };
};

interface Course {
  readonly sources: readonly CostSource[];
  readonly answers?: readonly SummaryAnswer[];
  readonly wishes?: OpenWishes;
  readonly act?: (agent: Agent) => Promise<unknown>;
}

const cancelled = async (agent: Agent): Promise<void> => {
  const { proposed } = await propose(agent);
  if (proposed.kind !== "proposed") throw new Error(proposed.message);
  await agent.context.compaction.cancel(proposed.proposal);
};

const noted = async ({ context: { conversation } }: Agent): Promise<void> => {
  while ((await conversation.compacting?.notes?.settle(new AbortController().signal)) === "ended");
};

const rewound = async ({ session }: Agent): Promise<void> => {
  const [first] = session.fold.projection.items;
  await session.append({ ...userDraft("Do something else."), parentUuid: first?.entry ?? null });
};

describe("a session that is opened again has cost what was booked while it was open, to the billionth", () => {
  it.each<[string, Course]>([
    ["by its replies alone", { sources: ["main"] }],
    ["with notes", { sources: ["main", "notes"], wishes: { flags: [["on", "notes"]] }, act: noted }],
    ["with a compaction by a fork", { sources: ["compact", "main"], act: compact }],
    [
      "with one by a request of its own, whose first answer was refused",
      { sources: ["compact", "main"], answers: ["tool-call", "good"], act: compact },
    ],
    ["with a summary that was paid for and not installed", { sources: ["compact", "main"], act: cancelled }],
    ["with a branch that was left", { sources: ["main"], act: rewound }],
  ])("%s", async (_, { sources, answers, wishes, act }) => {
    const world = await compactionWorld({ windowTokens: 80_000 });
    if (answers !== undefined) world.summariser.answers = answers;
    const agent = await world.open({ kind: "new" }, wishes);
    await world.turn(agent, { text: taskText(1), rounds: 12 });
    await act?.(agent);
    await agent.close();
    expect(Object.keys(agent.context.conversation.costs.toJSON().bySource).toSorted()).toEqual(sources);
    const again = await world.open({ kind: "resume", id: agent.session.id }, wishes);
    expect(costsOf(again)).toEqual(costsOf(agent));
    await again.close();
  });

  it("with replies on two branches to which their servers gave one id", async () => {
    const base = await mkdtemp(join(tmpdir(), "reopened-"));
    const open = async (session: SessionChoice): Promise<Agent> => {
      const opened = await openAgent({
        env: {
          PATH: process.env["PATH"],
          PALIMPSEST_HOME: join(base, "home"),
          PALIMPSEST_DURABILITY: "never",
          PALIMPSEST_FLAG_EXTRACTION: "0",
        },
        cwd: base,
        version: "0.0.0",
        flags: [{ flag: "model", text: "claude-sonnet-5" }],
        session,
        model: { kind: "simulator", responder: echoResponder, seed: 1 },
        tools: { mode: "bypass", allow: [], deny: [] },
      });
      if (opened.kind !== "agent") throw new Error(opened.kind);
      return opened;
    };
    const first = await open({ kind: "new" });
    await turn(first, "Go.");
    await rewound(first);
    await first.close();
    const { id } = first.session;
    const second = await open({ kind: "resume", id });
    await turn(second, "Go on.");
    await second.close();
    const third = await open({ kind: "resume", id });
    expect(third.context.conversation.costs.session.requests).toBe(2);
    expect(costsOf(third)).toEqual(costsOf(second));
    await third.close();
  });
});
