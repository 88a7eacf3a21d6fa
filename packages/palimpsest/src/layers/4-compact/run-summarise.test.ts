import { describe, expect, it } from "vitest";
import type { Fork, ForkOutcome, ForkTask } from "../../ports/fork.ts";
import type { ModelFailure, SummaryAnswer, SummaryCall, Summariser } from "../../ports/model-port.ts";
import type { Block, Message } from "../../schema/block.ts";
import { tokens, toolUseId } from "../../schema/brand.ts";
import type { CompactionFailure } from "../../schema/compaction-cause.ts";
import { estimateShown } from "../../tokens/estimate-block.ts";
import { droppedLine } from "./plain-request.ts";
import { plainSystemPrompt } from "./prompt.ts";
import { summarise, type SummariseInput } from "./run-summarise.ts";

const body = "## 1. Primary Request and Intent\nThe parser is to be fixed.";
const good = `<analysis>Thought.</analysis>\n<summary>\n${body}\n</summary>`;
const count = (message: Message): number => estimateShown([message.content]);
const countText = (text: string): number => Math.ceil(text.length / 4);

const says = (role: Message["role"], text: string): Message => ({ role, content: [{ type: "text", text }] });
const talk = (rounds: number, words = "Some words that take up room. "): readonly Message[] => [
  says("user", "Fix the parser."),
  ...Array.from({ length: rounds }, (_, at) => [
    says("assistant", `reply ${at} ${words.repeat(10)}`),
    says("user", `go on ${at}`),
  ]).flat(),
];

const asking = (over: Partial<SummariseInput> = {}): SummariseInput => ({
  prompt: "Write the summary.",
  messages: talk(10),
  gate: { userMessages: [], lastReply: "Done.", budgetTokens: 1_000, replacesTokens: 5_000, count: countText },
  retriesMax: 3,
  ...over,
});

const answered = (text: string, more: Partial<Extract<SummaryAnswer, { kind: "answered" }>> = {}): SummaryAnswer => ({
  kind: "answered",
  text,
  stopReason: "end_turn",
  blocks: text === "" ? [] : [{ type: "text", text }],
  usage: { input_tokens: 100, output_tokens: 10 },
  ...more,
});
const fails = (why: ModelFailure["why"], more: Partial<ModelFailure> = {}): SummaryAnswer => ({
  kind: "failed",
  failure: { why, retry: "never", message: `It is ${why}.`, ...more },
});

/** Gives these answers in turn, the last one for ever. */
function summariserOf(answers: readonly SummaryAnswer[], inputTokensMax = 100_000) {
  const calls: SummaryCall[] = [];
  const summariser: Summariser = {
    model: "plain-model",
    inputTokensMax: tokens(inputTokensMax),
    count,
    ask: (call) => {
      calls.push(call);
      const answer = answers[Math.min(calls.length, answers.length) - 1];
      if (answer === undefined) throw new Error("nothing is to be asked");
      return Promise.resolve(answer);
    },
  };
  return { summariser, calls };
}

function forkOf(outcome: ForkOutcome) {
  const tasks: ForkTask[] = [];
  const fork: Fork = {
    model: "parent-model",
    run: (task) => {
      tasks.push(task);
      return Promise.resolve(outcome);
    },
  };
  return { fork, tasks };
}

const forkUsage = [{ input_tokens: 5, cache_read_input_tokens: 900 }];
const forkSaid = (text: string, blocks: readonly Block[] = [{ type: "text", text }]): ForkOutcome => ({
  kind: "answered",
  text,
  said: [says("user", "Write the summary."), { role: "assistant", content: blocks }],
  usage: forkUsage,
});

const signal = new AbortController().signal;

describe("a summary by a fork", () => {
  it("is asked for in one round without tools or a cache write, and is taken where it passes the gate", async () => {
    const { fork, tasks } = forkOf(forkSaid(good));
    const phases: string[] = [];
    const input = asking({ forkReach: { messagesMax: 4 }, onPhase: (phase) => phases.push(phase) });
    const made = await summarise({ fork, summariser: summariserOf([]).summariser }, input, signal);
    expect(made).toEqual({
      kind: "summary",
      text: body,
      changes: [],
      path: "fork",
      calls: [{ path: "fork", model: "parent-model", usage: forkUsage[0] }],
      droppedGroups: 0,
    });
    expect(phases).toEqual(["fork"]);
    const [task] = tasks;
    expect(task).toMatchObject({
      directive: "Write the summary.",
      roundsMax: 1,
      cacheWrite: "skip",
      source: "compact",
      messagesMax: 4,
    });
    const call = { tool: "read", input: {}, acts: [] };
    expect(await task?.permit(call as never)).toMatchObject({ kind: "denied" });
  });

  it("may write its own end to the cache, and keep its notes", async () => {
    const { fork, tasks } = forkOf(forkSaid(good));
    const made = await summarise({ fork }, asking({ forkWrite: "write", analysis: "kept" }), signal);
    expect(made).toMatchObject({ kind: "summary", text: `## Analysis\nThought.\n\n${body}` });
    expect(tasks).toMatchObject([{ cacheWrite: "write" }]);
  });

  it.each<[string, ForkOutcome, CompactionFailure]>([
    ["fails", { kind: "failed", message: "overloaded", usage: forkUsage }, "api_error"],
    ["called a tool", { kind: "over", why: "rounds", usage: forkUsage }, "no_summary"],
    ["does not fit", { kind: "over", why: "over-limit", usage: forkUsage }, "prompt_too_long"],
    ["says nothing", forkSaid("", []), "no_summary"],
    ["answers with an error", forkSaid("API Error: 529 Overloaded"), "api_error"],
  ])("is all there is where there is no plain call: it %s", async (_, outcome, reason) => {
    const made = await summarise({ fork: forkOf(outcome).fork }, asking(), signal);
    expect(made).toMatchObject({ kind: "failed", reason, calls: [{ path: "fork" }] });
  });

  it.each<[string, ForkOutcome]>([
    ["fails", { kind: "failed", message: "overloaded", usage: forkUsage }],
    ["called a tool", { kind: "over", why: "rounds", usage: forkUsage }],
    ["does not fit", { kind: "over", why: "over-limit", usage: forkUsage }],
    ["says nothing", forkSaid("", [])],
    ["only thinks", forkSaid("", [{ type: "thinking", thinking: "Hm.", signature: "s" }])],
    ["refuses", forkSaid("I'm sorry, I can't help with that.")],
    ["talks nonsense", forkSaid("Sure! What shall I do next?")],
    ["repeats the last reply", forkSaid("<summary>Done.</summary>")],
    ["is not smaller", forkSaid(`<summary>${"long words ".repeat(3_000)}</summary>`)],
  ])("gives way to the plain call where the fork %s, and is paid for", async (_, outcome) => {
    const phases: string[] = [];
    const { summariser } = summariserOf([answered(good)]);
    const input = asking({ onPhase: (phase) => phases.push(phase) });
    const made = await summarise({ fork: forkOf(outcome).fork, summariser }, input, signal);
    expect(made).toMatchObject({ kind: "summary", text: body, path: "stream" });
    expect(made.calls.map(({ path, model }) => `${path} ${model}`)).toEqual([
      "fork parent-model",
      "stream plain-model",
    ]);
    expect(phases).toEqual(["fork", "stream"]);
  });
});

describe("a summary by the plain call", () => {
  it("is asked for under its own system prompt, behind a conversation without media and thinking", async () => {
    const messages: readonly Message[] = [
      { role: "user", content: [{ type: "image" }, { type: "text", text: "Look." }] },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "Hm.", signature: "s" },
          { type: "text", text: "Yes." },
        ],
      },
      says("user", "Go on."),
    ];
    const { summariser, calls } = summariserOf([answered(good)]);
    await summarise({ summariser }, asking({ messages }), signal);
    expect(calls).toHaveLength(1);
    expect(calls[0]).toMatchObject({ system: plainSystemPrompt, outputTokensMax: 20_000 });
    expect(calls[0]?.messages).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "[image]" },
          { type: "text", text: "Look." },
        ],
      },
      says("assistant", "Yes."),
      {
        role: "user",
        content: [
          { type: "text", text: "Go on." },
          { type: "text", text: "Write the summary." },
        ],
      },
    ]);
  });

  it.each<[string, SummaryAnswer, CompactionFailure, number]>([
    ["is empty", answered(""), "no_summary", 2],
    ["only thinks", answered("", { blocks: [{ type: "thinking", thinking: "Hm.", signature: "s" }] }), "no_summary", 2],
    ["calls a tool", answered("", { stopReason: "tool_use", blocks: [toolCall("toolu_1")] }), "no_summary", 2],
    ["talks nonsense", answered("Sure! What shall I do next?"), "no_summary", 2],
    ["repeats the last reply", answered("<summary>Done.</summary>"), "no_summary", 2],
    ["is an error as text", answered("API Error: 529 overloaded_error"), "api_error", 2],
    ["refuses", answered("", { stopReason: "refusal" }), "no_summary", 1],
    ["is cut off", answered(`<summary>\n${body}`, { stopReason: "max_tokens" }), "no_summary", 1],
    ["is not smaller", answered(`<summary>${"a ".repeat(10_500)}</summary>`), "no_summary", 1],
    ["times out", fails("timeout"), "timed_out", 1],
    ["can't be reached", fails("network"), "api_error", 1],
    ["is refused by the server", fails("unauthorised"), "api_error", 1],
    ["was aborted by somebody else", fails("aborted"), "aborted", 1],
  ])("that %s fails, asked for again only where that may help", async (_, answer, reason, asks) => {
    const { summariser, calls } = summariserOf([answer]);
    const made = await summarise({ summariser }, asking(), signal);
    expect(made).toMatchObject({ kind: "failed", reason });
    expect(made.kind === "failed" && made.message).not.toBe("");
    expect(calls).toHaveLength(asks);
    expect(made.calls).toHaveLength(answer.kind === "answered" ? asks : 0);
  });

  it.each<[string, ForkOutcome]>([
    ["called a tool", { kind: "over", why: "rounds", usage: forkUsage }],
    ["talked nonsense", forkSaid("Sure! What shall I do next?")],
  ])("is asked for once where the fork %s: nobody pays a third time for the same text", async (_, outcome) => {
    const { summariser, calls } = summariserOf([answered("")]);
    const made = await summarise({ fork: forkOf(outcome).fork, summariser }, asking(), signal);
    expect(made).toMatchObject({ kind: "failed", reason: "no_summary" });
    expect(calls).toHaveLength(1);
    expect(made.calls).toHaveLength(2);
  });

  it("is not asked for where the provider's own summary and the fork's were none", async () => {
    const { summariser, calls } = summariserOf([answered(good)]);
    const input = asking({ unusableAnswers: 1 });
    const made = await summarise({ fork: forkOf(forkSaid("Sure!")).fork, summariser }, input, signal);
    expect(made).toMatchObject({ kind: "failed", reason: "no_summary", calls: [{ path: "fork" }] });
    expect(calls).toHaveLength(0);
  });

  it("is taken where the second try is better", async () => {
    const { summariser } = summariserOf([answered("Sure!"), answered(good)]);
    const made = await summarise({ summariser }, asking(), signal);
    expect(made).toMatchObject({ kind: "summary", text: body });
    expect(made.calls).toHaveLength(2);
  });

  it("books every reply that began, also in tries that the summariser made by itself", async () => {
    const begun = { input_tokens: 7 };
    const { summariser } = summariserOf([{ ...fails("server"), usage: begun, wasted: [begun, begun] }]);
    const made = await summarise({ summariser }, asking(), signal);
    expect(made.calls.map(({ usage }) => usage)).toEqual([begun, begun, begun]);
  });
});

function toolCall(id: string): Block {
  return { type: "tool_use", id: toolUseId(id), name: "read", input: {} };
}

const sizeOf = ({ messages }: SummaryCall): number => messages.reduce((sum, message) => sum + count(message), 0);
const beginsWith = ({ messages }: SummaryCall): Block | undefined => messages[0]?.content[0];

describe("a plain call that is too long", () => {
  it.each<[string, number, readonly SummaryAnswer[], "summary" | CompactionFailure, number]>([
    ["fits at once", 3, [answered(good)], "summary", 1],
    ["fits at the first retry", 3, [fails("too-long"), answered(good)], "summary", 2],
    [
      "fits at the last retry",
      3,
      [fails("too-long"), fails("too-long"), fails("too-long"), answered(good)],
      "summary",
      4,
    ],
    ["never fits", 3, [fails("too-long")], "prompt_too_long", 4],
    ["may not be tried again", 0, [fails("too-long"), answered(good)], "prompt_too_long", 1],
  ])("that %s, with %i retries", async (_, retriesMax, answers, end, asks) => {
    const { summariser, calls } = summariserOf(answers);
    const made = await summarise({ summariser }, asking({ retriesMax }), signal);
    expect(made.kind === "summary" ? made.kind : made.reason).toBe(end);
    expect(calls).toHaveLength(asks);
    for (const call of calls.slice(1)) expect(beginsWith(call)).toEqual({ type: "text", text: droppedLine });
    const sizes = calls.map((call) => sizeOf(call));
    expect(sizes.toSorted((one, other) => other - one)).toEqual(sizes);
    expect(new Set(sizes).size).toBe(sizes.length);
  });

  it("leaves out as much as the server says, in its own proportion", async () => {
    const { summariser, calls } = summariserOf([
      fails("too-long", { limitTokens: tokens(5_000), usedTokens: tokens(10_000) }),
      answered(good),
    ]);
    const made = await summarise({ summariser }, asking({ messages: talk(20) }), signal);
    const [before = 0, after = 0] = calls.map((call) => sizeOf(call));
    expect(after / before).toBeGreaterThan(0.4);
    expect(after / before).toBeLessThan(0.55);
    expect(made).toMatchObject({
      kind: "summary",
      droppedGroups: 12,
      changes: ["The summariser did not see the 12 oldest rounds: its window had no room for more."],
    });
  });

  it("ends with the advice to rewind where one round is left", async () => {
    const { summariser, calls } = summariserOf([fails("too-long")]);
    const made = await summarise({ summariser }, asking({ messages: [says("user", "Hello.")] }), signal);
    expect(made).toMatchObject({ kind: "failed", reason: "prompt_too_long" });
    expect(made.kind === "failed" && made.message).toMatch(/rewind/i);
    expect(calls).toHaveLength(1);
  });

  it("is made to fit before it is sent, whatever it holds", async () => {
    const { summariser, calls } = summariserOf([answered(good)], 800);
    const made = await summarise({ summariser }, asking({ messages: talk(60) }), signal);
    expect(made).toMatchObject({ kind: "summary", path: "stream" });
    expect(made.kind === "summary" && made.droppedGroups).toBeGreaterThan(40);
    expect(calls.map((call) => sizeOf(call) <= 800)).toEqual([true]);
  });

  it("says to the user where what the model read was cut", async () => {
    const { summariser, calls } = summariserOf([answered(good)], 2_000);
    const messages = [says("user", "a huge paste ".repeat(20_000))];
    const made = await summarise({ summariser }, asking({ messages }), signal);
    expect(made.kind === "summary" && made.changes.join("\n")).toContain("shortened");
    expect(calls.map((call) => sizeOf(call) <= 2_000)).toEqual([true]);
  });

  it("is not sent where not even what is asked fits", async () => {
    const { summariser, calls } = summariserOf([answered(good)], 3);
    const made = await summarise({ summariser }, asking(), signal);
    expect(made).toMatchObject({ kind: "failed", reason: "prompt_too_long", calls: [] });
    expect(calls).toHaveLength(0);
  });
});

describe("an abort", () => {
  it("before anything is asked asks nothing", async () => {
    const { fork, tasks } = forkOf(forkSaid(good));
    const made = await summarise({ fork, summariser: summariserOf([]).summariser }, asking(), AbortSignal.abort());
    expect(made).toMatchObject({ kind: "failed", reason: "aborted", calls: [] });
    expect(tasks).toHaveLength(0);
  });

  it("while the fork runs is the end, and the fork is paid for", async () => {
    const controller = new AbortController();
    const fork: Fork = {
      model: "parent-model",
      run: () => {
        controller.abort();
        return Promise.resolve({ kind: "over", why: "aborted", usage: forkUsage });
      },
    };
    const { summariser, calls } = summariserOf([answered(good)]);
    const made = await summarise({ fork, summariser }, asking(), controller.signal);
    expect(made).toMatchObject({ kind: "failed", reason: "aborted" });
    expect(made.calls).toHaveLength(1);
    expect(calls).toHaveLength(0);
  });

  it.each<[string, SummaryAnswer, number]>([
    ["breaks off", { ...fails("aborted"), usage: { input_tokens: 3 } }, 1],
    ["comes all the same", answered(good), 1],
    ["would be asked for again", answered("Sure!"), 1],
    ["would be made shorter", fails("too-long"), 0],
  ])("while the plain call runs is the end, where it %s", async (_, answer, paid) => {
    const controller = new AbortController();
    const { summariser, calls } = summariserOf([answer]);
    const aborting: Summariser = {
      ...summariser,
      ask: (call, given) => {
        controller.abort();
        return summariser.ask(call, given);
      },
    };
    const made = await summarise({ summariser: aborting }, asking(), controller.signal);
    expect(made).toMatchObject({ kind: "failed", reason: "aborted" });
    expect(made.calls).toHaveLength(paid);
    expect(calls).toHaveLength(1);
  });
});
