import { describe, expect, it } from "vitest";
import { presetNames, getPreset } from "../../packages/palimpsest/src/policy/policy-catalogue.ts";
import { createWorkingState, type WorkingStatePart } from "../../packages/palimpsest/src/ports/working-state.ts";
import { type JsonObject, textField as textIn } from "../../packages/palimpsest/src/schema/json.ts";
import type { LoopEvent } from "../../packages/palimpsest/src/schema/loop-event.ts";
import type { PolicyName } from "../../packages/palimpsest/src/schema/policy-names.ts";
import { loggingTool } from "../fixture/agent.ts";
import { compactingWorld, summaryRequests } from "../fixture/compacting.ts";
import { readTool, sentText } from "./support/clearing-world.ts";
import type { SummaryAnswer } from "./support/summary-answers.ts";
import type { SeenRequest } from "./support/whole-agent.ts";

const stating = (name: string): WorkingStatePart => ({
  name,
  stability: 80,
  snapshot: ({ budgets }) =>
    Promise.resolve({
      kind: "state",
      pieces: [{ title: name, text: `STATE of ${name}`, handle: "none" }],
      budget: budgets.other,
    }),
});
const parts = createWorkingState(["todos", "plan", "agents", "skills", "files", "place"].map(stating));

/** A turn that fills the window, and one behind it. */
async function compactedBy(policy: PolicyName, answers: readonly SummaryAnswer[] = ["good"]) {
  const world = compactingWorld();
  const write = loggingTool("write", { effect: "write", log: { runs: [], most: 0 } });
  const agent = await world.agent("create", {
    flags: [["policy", policy]],
    tools: [readTool, write],
    compacting: { workingState: parts },
  });
  world.script.answers = answers;
  world.script.instead.push([{ type: "tool_use", name: "write", input: { file_path: "/made.ts", content: "x" } }]);
  world.script.left = 30;
  const events = await agent.turn("Look at all the files.");
  world.script.left = 1;
  const more = await agent.turn("Go on.");
  return { world, agent, events, more, asked: summaryRequests(world.seen) };
}

const pathsOf = (events: readonly LoopEvent[]): readonly string[] =>
  events.flatMap((event) => (event.kind === "compacted" ? [event.path] : []));

/** What stands in place of the conversation, behind the first boundary. */
function behind({ world, asked }: Awaited<ReturnType<typeof compactedBy>>): string {
  const at = world.seen.indexOf(asked[0] as SeenRequest);
  return sentText(world.seen.slice(at + 1).find((seen) => !asked.includes(seen)));
}

const lastBlock = ({ body }: SeenRequest): JsonObject => {
  const messages = body["messages"] as readonly { readonly content: readonly JsonObject[] }[];
  return messages.at(-1)?.content.at(-1) ?? {};
};

interface Row {
  /** Under the conversation's own header, or a system prompt of its own. */
  readonly header: "same" | "own";
  /** Whether the prompt's own block is marked. */
  readonly marked: boolean;
  readonly sections: boolean;
  readonly analysis: boolean;
  readonly transcript: boolean;
  readonly ledger: boolean;
  readonly restored: readonly string[];
}

const fork2026: Row = {
  header: "same",
  marked: false,
  sections: true,
  analysis: false,
  transcript: true,
  ledger: false,
  restored: ["todos", "plan", "agents", "skills", "files", "place"],
};
const rows: readonly (readonly [PolicyName, Row])[] = [
  ["palimpsest", { ...fork2026, ledger: true }],
  [
    "claude-code-2.0",
    {
      header: "own",
      marked: false,
      sections: true,
      analysis: true,
      transcript: false,
      ledger: false,
      restored: ["todos", "plan", "files", "place"],
    },
  ],
  [
    "claude-code-2.1",
    {
      header: "same",
      marked: true,
      sections: true,
      analysis: true,
      transcript: true,
      ledger: false,
      restored: ["todos", "plan", "files", "place"],
    },
  ],
  ["claude-code-2026", fork2026],
  [
    "opencode",
    {
      header: "own",
      marked: false,
      sections: false,
      analysis: false,
      transcript: false,
      ledger: false,
      restored: ["place"],
    },
  ],
];

describe("a preset compacts as its original does", () => {
  it.each(rows)("%s", async (policy, row) => {
    const outcome = await compactedBy(policy);
    const { world, events, more, asked } = outcome;
    const [first] = asked;
    if (first === undefined) throw new Error("nobody was asked for a summary");
    expect(pathsOf(events)).toContain(row.header === "same" ? "fork" : "stream");
    const prompt = textIn(lastBlock(first), "text") ?? "";
    const next = behind(outcome);
    const found: Row = {
      header: JSON.stringify(first.body["system"]).includes("You help.") ? "same" : "own",
      marked: lastBlock(first)["cache_control"] !== undefined,
      sections: prompt.includes("Primary Request and Intent"),
      analysis: next.includes("## Analysis"),
      transcript: next.includes("The full transcript lies at /log.jsonl"),
      ledger: next.includes("<user-messages>"),
      restored: ["todos", "plan", "agents", "skills", "files", "place"].filter((name) =>
        next.includes(`STATE of ${name}`),
      ),
    };
    expect(found).toEqual(row);
    for (const end of [events.at(-1), more.at(-1)]) expect(end).toMatchObject({ kind: "turn-end", reason: "answered" });
    expect(world.seen.every(({ answer }) => answer === "accepted")).toBe(true);
  });

  it("claude-code-2026-all: old rounds collapse in place of it, and the session goes on", async () => {
    const { events, more, world } = await compactedBy("claude-code-2026-all");
    expect(events.some((event) => event.kind === "cleared" && event.what === "collapse")).toBe(true);
    expect(pathsOf(events)).toEqual([]);
    expect(more.at(-1)).toMatchObject({ kind: "turn-end", reason: "answered" });
    expect(world.seen.every(({ answer }) => answer === "accepted")).toBe(true);
  });

  it.each(rows.map(([policy]) => policy))("%s: only the default adds what a summary leaves out", async (policy) => {
    const { agent } = await compactedBy(policy, ["lies"]);
    const [boundary] = agent.session.fold.projection.boundaries;
    const score = boundary?.edit.type === "boundary" ? boundary.edit.metadata.audit?.score : undefined;
    expect(score).toBeLessThan(1);
    const summaries = agent.session.fold.path.entries.filter((entry) => entry.kind === "user" && entry.summary);
    expect(JSON.stringify(summaries).includes("Carried forward")).toBe(policy === "palimpsest");
  });

  it.each(presetNames.filter((name) => getPreset(name).compact === undefined))(
    "%s never compacts by itself",
    async (policy) => {
      const world = compactingWorld();
      const agent = await world.agent("create", { flags: [["policy", policy]] });
      world.script.left = 15;
      const events = await agent.turn("Look at some files.");
      expect(pathsOf(events)).toEqual([]);
      expect(world.script.asked).toBe(0);
    },
  );

  it("a preset without a breaker tries again before every request; the default stops after three", async () => {
    const failures = async (policy: PolicyName): Promise<number> => {
      const { events, more } = await compactedBy(policy, ["500"]);
      return [...events, ...more].filter((event) => event.kind === "compaction-failed" && event.reason === "api_error")
        .length;
    };
    expect(await failures("palimpsest")).toBe(3);
    expect(await failures("claude-code-2.0")).toBeGreaterThan(3);
  });

  it("only the default ends without a model where every try failed", async () => {
    expect(pathsOf((await compactedBy("palimpsest", ["refusal"])).events)).toContain("extractive");
    for (const policy of ["claude-code-2.0", "claude-code-2.1", "claude-code-2026", "opencode"] as const) {
      const { events } = await compactedBy(policy, ["refusal"]);
      expect([policy, pathsOf(events)]).toEqual([policy, []]);
      expect(events.at(-1)).toMatchObject({ kind: "turn-end", reason: "over-limit" });
    }
  });
});
