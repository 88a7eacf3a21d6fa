import { describe, expect, it } from "vitest";
import { loggingTool, testAgent, type ToolLog } from "../../../../test/fixture/agent.ts";
import { openedForTest, testDeps } from "../../../../test/fixture/session.ts";
import { playing, says } from "../../../../test/scenario/support/simulated.ts";
import { noUser, type PermissionAnswer, type PermissionPrompt, type UserPort } from "../ports/user-port.ts";
import type { AllowRuleGrant, AllowRuleOutcome, PermissionVerdict } from "../ports/tool.ts";
import type { MoveBlock } from "@palimpsest/simulator/internal/responder/responder";
import { Simulator } from "@palimpsest/simulator/internal/simulator";
import { refusalText } from "../layers/4-compact/facts/fact-book.ts";

const look = (n: number): MoveBlock => ({ type: "tool_use", name: "look", input: { n } });

interface Case {
  readonly calls?: readonly MoveBlock[];
  readonly answer: (ask: PermissionPrompt, signal: AbortSignal) => Promise<PermissionAnswer>;
  readonly keep?: (leave: AllowRuleGrant) => AllowRuleOutcome;
  /** After so many leaves the rules allow what they asked about. */
  readonly verdict?: (leaves: number) => PermissionVerdict;
}

async function asked({ calls = [look(1)], answer, keep, verdict }: Case) {
  const deps = testDeps();
  const session = await openedForTest(deps);
  const log: ToolLog = { runs: [], most: 0 };
  const asks: PermissionPrompt[] = [];
  const leaves: AllowRuleGrant[] = [];
  const user: UserPort = {
    ...noUser,
    permission: (ask, signal) => {
      asks.push(ask);
      return answer(ask, signal);
    },
  };
  const verdictNow = verdict ?? (() => ({ kind: "ask", reason: "it looks", suggestedRules: ["look"] }) as const);
  const agent = testAgent({
    deps,
    session,
    simulator: new Simulator({ responder: playing(calls, says("Done.")) }),
    tools: [loggingTool("look", { effect: "read", log })],
    over: {
      permit: () => Promise.resolve(verdictNow(leaves.length)),
      asking: {
        user,
        allowAlways: (leave) => {
          leaves.push(leave);
          return Promise.resolve(keep?.(leave) ?? { kind: "kept" });
        },
      },
    },
  });
  const results = () => JSON.stringify(session.view().messages);
  return { agent, log, asks, leaves, results };
}

describe("where a verdict leaves a call to the user", () => {
  it("they are told the call, the reason and a rule, and what they allow runs", async () => {
    const { agent, log, asks } = await asked({ answer: () => Promise.resolve({ kind: "once" }) });
    const events = await agent.turn("Look.");
    expect(asks).toMatchObject([
      { tool: "look", input: { n: 1 }, acts: [], reason: "it looks", suggestedRules: ["look"] },
    ]);
    expect(log.runs).toEqual(['look {"n":1}']);
    expect(events.filter(({ kind }) => kind.startsWith("permission-"))).toMatchObject([
      { kind: "permission-start", tool: "look", reason: "it looks", suggestedRules: ["look"] },
      { kind: "permission-end", tool: "look", answer: "once" },
    ]);
  });

  it.each([
    ["with their words", { kind: "denied", words: " not there " }, "not there", "not there"],
    ["without a word", { kind: "denied" }, "The user denied this call.", ""],
    ["by nobody", { kind: "nobody" }, "it looks", "it looks"],
  ] as const)("what they deny does not run, and the model is told so: %s", async (_name, answer, words, summary) => {
    const { agent, log, results } = await asked({ answer: () => Promise.resolve(answer) });
    const events = await agent.turn("Look.");
    expect(log.runs).toEqual([]);
    expect(results()).toContain(words);
    expect(events).toContainEqual(expect.objectContaining({ kind: "call-end", outcome: "denied", summary }));
  });

  it("a compaction finds the words of a user who denied a call", async () => {
    const { agent, results } = await asked({ answer: () => Promise.resolve({ kind: "denied", words: "leave it be" }) });
    await agent.turn("Look.");
    const [said = ""] = /The user denied[^"]+/.exec(results()) ?? [];
    expect(refusalText(said.replaceAll(String.raw`\n`, "\n"))).toBe("leave it be");
  });

  it("calls side by side are asked about one after the other, and a rule given to one settles the next", async () => {
    let open = 0;
    let most = 0;
    const { agent, log, asks, leaves } = await asked({
      calls: [look(1), look(2), look(3)],
      verdict: (count) => (count > 0 ? { kind: "allowed" } : { kind: "ask", reason: "it looks" }),
      answer: async ({ input }) => {
        open += 1;
        most = Math.max(most, open);
        await new Promise((resolve) => setTimeout(resolve, 5));
        open -= 1;
        return input["n"] === 1 ? { kind: "once" } : { kind: "always", rules: ["look"], scope: "session" };
      },
    });
    await agent.turn("Look.");
    expect([most, asks.length, leaves]).toEqual([1, 2, [{ rules: ["look"], scope: "session" }]]);
    expect(log.runs.toSorted()).toEqual(['look {"n":1}', 'look {"n":2}', 'look {"n":3}']);
  });

  it("a rule that is none costs the rule, not the call", async () => {
    const { agent, log } = await asked({
      answer: () => Promise.resolve({ kind: "always", rules: ["("], scope: "project" }),
      keep: () => ({ kind: "wrong", why: "no rule" }),
    });
    const events = await agent.turn("Look.");
    expect(log.runs).toHaveLength(1);
    expect(events).toContainEqual({ kind: "warning", code: "permission", message: "no rule" });
    expect(events.find(({ kind }) => kind === "permission-end")).not.toHaveProperty("rule");
  });

  it("what was allowed does not run once the turn was ended, also while the permission was being written", async () => {
    const abort = new AbortController();
    const { agent, log } = await asked({
      answer: () => Promise.resolve({ kind: "always", rules: ["look"], scope: "project" }),
      keep: () => {
        abort.abort();
        return { kind: "kept" };
      },
    });
    const events = await agent.turn("Look.", abort.signal);
    expect(log.runs).toEqual([]);
    expect(events).toContainEqual(expect.objectContaining({ kind: "call-end", outcome: "interrupted" }));
  });

  it("an abort ends the turn though the dialog does not hear it", async () => {
    const abort = new AbortController();
    const { agent, log } = await asked({
      answer: () => {
        setTimeout(() => abort.abort(), 5);
        return new Promise(() => undefined);
      },
    });
    const events = await agent.turn("Look.", abort.signal);
    expect(log.runs).toEqual([]);
    expect(events).toContainEqual(expect.objectContaining({ kind: "permission-end", answer: "interrupted" }));
    expect(events.at(-1)).toMatchObject({ kind: "turn-end", reason: "aborted" });
  });
});
