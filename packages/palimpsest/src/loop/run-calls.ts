import type { Tool, ToolOutcome, ToolPlan } from "../ports/tool.ts";
import type { HookPayload, HookOutcome } from "../ports/hooks.ts";
import type { ToolUseBlock } from "../schema/block.ts";
import type { LoopEvent } from "../schema/loop-event.ts";
import type { JsonObject } from "../schema/json.ts";
import { abortGraceMs, parallelCallsMax } from "./limits.ts";
import { summaryCharsMax } from "../context/limits.ts";
import type { Conversation } from "../context/conversation.ts";
import type { CallDeps } from "../context/deps.ts";
import { askUser, Turnstile, denialReason } from "./ask-user.ts";
import { Channel } from "../context/channel.ts";
import type { ReplyCall } from "../context/reply/reply-recorder.ts";
import type { CallResult } from "../context/reply/round-results.ts";

interface CallsInput {
  readonly conversation: Conversation;
  readonly calls: readonly ReplyCall[];
  readonly signal: AbortSignal;
  /** Takes a result as soon as it is there. What it can't write is its own to tell. */
  readonly onResult: (result: CallResult) => Promise<void>;
}

/**
 * Runs the calls of one reply: neighbours that only read run side by side, everything else alone and in order. An abort
 * ends what runs; calls that have not begun do not begin.
 */
export async function* runCalls(deps: CallDeps, input: CallsInput): AsyncGenerator<LoopEvent> {
  for (const batch of splitIntoBatches(deps.tools, input.calls)) {
    if (input.signal.aborted) return;
    yield* runBatch(deps, { ...input, calls: batch });
  }
}

/** In the order of the calls; a tool that nobody knows runs nothing and may stand beside anything. */
function splitIntoBatches(tools: readonly Tool[], calls: readonly ReplyCall[]): readonly (readonly ReplyCall[])[] {
  const batches: ReplyCall[][] = [];
  let reading = false;
  for (const one of calls) {
    const reads = findTool(tools, one.call)?.effect !== "write";
    const last = batches.at(-1);
    if (last !== undefined && reads && reading && last.length < parallelCallsMax) last.push(one);
    else batches.push([one]);
    reading = reads;
  }
  return batches;
}

const findTool = (tools: readonly Tool[], { name }: ToolUseBlock): Tool | undefined =>
  tools.find((tool) => tool.name === name);

async function* runBatch(deps: CallDeps, input: CallsInput): AsyncGenerator<LoopEvent> {
  const events = new Channel<LoopEvent>();
  const turnstile = new Turnstile();
  const running = input.calls.map(async ({ call, flawed }) => {
    events.put({ kind: "call-start", id: call.id, tool: call.name, input: call.input });
    const result = await runCall(deps, { ...input, call, flawed, events, turnstile });
    await input.onResult(result);
    const { outcome, summary } = result;
    events.put({ kind: "call-end", id: call.id, tool: call.name, outcome, summary });
  });
  const over = Promise.allSettled(running).finally(() => events.close());
  yield* events;
  const settled = await over;
  const bug = settled.find((one) => one.status === "rejected");
  if (bug !== undefined) throw bug.reason;
}

interface OneCall extends Omit<CallsInput, "calls"> {
  readonly call: ToolUseBlock;
  readonly flawed: string | undefined;
  readonly events: Channel<LoopEvent>;
  /** In front of the person: what they allow for good to one call may settle its neighbours. */
  readonly turnstile: Turnstile;
}

async function runCall(deps: CallDeps, one: OneCall): Promise<CallResult> {
  const { call } = one;
  const tool = findTool(deps.tools, call);
  const failed = (content: string): CallResult => ({
    call,
    tool,
    outcome: "failed",
    content,
    summary: firstLine(content),
  });
  if (tool === undefined) return failed(`There is no tool called ${call.name}.`);
  // What the model meant is unknown: running it with less than that could do harm.
  if (one.flawed !== undefined) return failed(`The call was not run: ${one.flawed}`);
  const before = await fireHook(deps, { one, moment: { name: "PreToolUse", ...toolUseMoment(deps.tools, call) } });
  const judged =
    before.blocked === undefined
      ? await judgeCall(deps, { one, tool, input: before.updatedInput ?? call.input, byHook: before.permission })
      : { outcome: "denied" as const, content: `A hook stopped this call: ${before.blocked.reason}` };
  const ended = "run" in judged ? await judged.run() : { ...judged, summary: callSummary(judged.content), notes: [] };
  const content = [...before.context, ...ended.notes].reduce(appendNote, ended.content);
  const stopped = before.stopped?.reason ?? ("stopped" in ended ? ended.stopped : undefined);
  const { outcome, summary } = ended;
  return { call, tool, outcome, content, summary, ...(stopped === undefined ? {} : { stopped }) };
}

const toolUseMoment = (tools: readonly Tool[], call: ToolUseBlock) => ({
  tool: findTool(tools, call)?.knownAs?.(call.input) ?? call.name,
  input: call.input,
  toolUse: call.id,
});

interface JudgeInput {
  readonly one: OneCall;
  readonly tool: Tool;
  readonly input: JsonObject;
  readonly byHook: "allow" | "ask" | undefined;
}

type JudgeOutcome =
  | { readonly outcome: "failed" | "denied" | "interrupted"; readonly content: string }
  | { run(): Promise<ToolRunOutcome> };

interface ToolRunOutcome {
  readonly outcome: "done" | "failed" | "interrupted";
  readonly content: ToolOutcome["content"];
  readonly summary: string;
  /** For the model, behind the result. */
  readonly notes: readonly string[];
  readonly stopped?: string | undefined;
}

/** Whether a call may run with this input. A hook that answers for the person may give another input, which is judged anew. */
async function judgeCall(deps: CallDeps, { one, tool, input, byHook }: JudgeInput): Promise<JudgeOutcome> {
  const plan = await planCall(deps, { one, tool, input });
  if (plan.kind === "wrong") return { outcome: "failed", content: plan.message };
  const verdict = await deps.permit({ tool: tool.name, input, acts: plan.acts });
  if (verdict.kind === "denied") return { outcome: "denied", content: verdict.reason };
  if (one.signal.aborted) return { outcome: "interrupted", content: interruptedByUser };
  const isForUser = verdict.kind === "ask" && verdict.answeredBy === "user";
  const isAsked = verdict.kind === "ask" ? byHook !== "allow" || isForUser : byHook === "ask";
  if (!isAsked) return { run: () => runTool(deps, { one, plan, input }) };
  const known = tool.knownAs?.(input) ?? tool.name;
  const asked = await fireHook(deps, { one, moment: { name: "PermissionRequest", tool: known, input } });
  const reason = verdict.kind === "ask" ? verdict.reason : "A hook wants a person to decide this call.";
  if (asked.blocked !== undefined) return { outcome: "denied", content: asked.blocked.reason };
  if (asked.permission !== "allow" || isForUser) return letUserDecide(deps, { one, tool, input, plan, reason, byHook });
  if (asked.updatedInput !== undefined)
    return judgeCall(deps, { one, tool, input: asked.updatedInput, byHook: "allow" });
  return { run: () => runTool(deps, { one, plan, input }) };
}

interface UserDecisionInput extends JudgeInput {
  readonly plan: Extract<ToolPlan, { kind: "ready" }>;
  readonly reason: string;
}

/** Judged once more when it is this call's turn: rules may have come since. */
async function letUserDecide(
  deps: CallDeps,
  { one, tool, input, plan, reason, byHook }: UserDecisionInput,
): Promise<JudgeOutcome> {
  if (deps.asking === undefined) return { outcome: "denied", content: reason };
  const { acts } = plan;
  const leave = await one.turnstile.enter();
  try {
    const verdict = await deps.permit({ tool: tool.name, input, acts });
    if (verdict.kind === "denied") return { outcome: "denied", content: verdict.reason };
    if (one.signal.aborted) return { outcome: "interrupted", content: interruptedByUser };
    if (verdict.kind === "allowed" && byHook !== "ask") return { run: () => runTool(deps, { one, plan, input }) };
    const { suggestedRules } = verdict.kind === "ask" ? verdict : {};
    const rules = suggestedRules === undefined ? {} : { suggestedRules };
    const ask = { toolUse: one.call.id, tool: tool.name, input, acts, reason, ...rules };
    const asked = await askUser(deps.asking, { ask, signal: one.signal, events: one.events });
    switch (asked.kind) {
      case "allowed":
        return { run: () => runTool(deps, { one, plan, input }) };
      case "denied":
        return { outcome: "denied", content: asked.reason };
      case "interrupted":
        return { outcome: "interrupted", content: interruptedByUser };
    }
  } finally {
    leave();
  }
}

async function runTool(
  deps: CallDeps,
  {
    one,
    plan,
    input,
  }: { readonly one: OneCall; readonly plan: Extract<ToolPlan, { kind: "ready" }>; readonly input: JsonObject },
): Promise<ToolRunOutcome> {
  // Whoever was asked, or a hook, may have taken until after the abort.
  if (one.signal.aborted)
    return { outcome: "interrupted", content: interruptedByUser, summary: interruptedByUser, notes: [] };
  const outcome = await runWithGrace(plan, one.signal);
  const response = typeof outcome.content === "string" ? outcome.content : [...outcome.content];
  const moment = { name: "PostToolUse", ...toolUseMoment(deps.tools, one.call), input, response } as const;
  const after = await fireHook(deps, { one, moment });
  return {
    outcome: one.signal.aborted ? "interrupted" : outcome.isError === true ? "failed" : "done",
    content: outcome.content,
    summary: outcome.summary,
    notes: [...(after.blocked === undefined ? [] : [after.blocked.reason]), ...after.context],
    stopped: after.stopped?.reason,
  };
}

async function fireHook(
  deps: CallDeps,
  { one, moment }: { readonly one: OneCall; readonly moment: HookPayload },
): Promise<HookOutcome> {
  const outcome = await deps.hooks.fire({ ...deps.place(), ...moment }, one.signal);
  for (const message of [...outcome.messages, ...outcome.warnings])
    one.events.put({ kind: "warning", code: "hook", message });
  return outcome;
}

async function planCall(
  deps: CallDeps,
  { one, tool, input }: { readonly one: OneCall; readonly tool: Tool; readonly input: JsonObject },
): Promise<ToolPlan> {
  const { files } = one.conversation;
  const context = { toolUse: one.call.id, cwd: deps.cwd(), files, now: deps.now() };
  try {
    return await tool.plan(input, context);
  } catch (error) {
    return { kind: "wrong", message: `${tool.name} failed before it began: ${String(error)}` };
  }
}

/** A tool is other people's code and the machine's mood: what it throws is told to the model, and one that does not hear an abort is left behind. */
async function runWithGrace(plan: Extract<ToolPlan, { kind: "ready" }>, signal: AbortSignal): Promise<ToolOutcome> {
  const given = Promise.withResolvers<ToolOutcome>();
  const leave = (): void => {
    const timer = setTimeout(() => given.resolve(interruptedOutcome), abortGraceMs);
    void given.promise.finally(() => clearTimeout(timer));
  };
  if (signal.aborted) leave();
  signal.addEventListener("abort", leave, { once: true });
  plan.run(signal).then(given.resolve, (error: unknown) => {
    const content = `The tool failed: ${String(error)}`;
    given.resolve(signal.aborted ? interruptedOutcome : { content, isError: true, summary: firstLine(content) });
  });
  return given.promise.finally(() => signal.removeEventListener("abort", leave));
}

/** What the log keeps of such a call. */
export const interruptedByUser = "[The person interrupted this call.]";

const interruptedOutcome: ToolOutcome = { content: interruptedByUser, isError: true, summary: interruptedByUser };

/** For people: what they said themselves, not how it is put to the model. */
const callSummary = (content: string): string => denialReason(content)?.slice(0, summaryCharsMax) ?? firstLine(content);

const firstLine = (text: string): string => text.slice(0, summaryCharsMax).split("\n", 1)[0] ?? "";

const appendNote = (content: ToolOutcome["content"], note: string): ToolOutcome["content"] =>
  typeof content === "string" ? `${content}\n\n${note}` : [...content, { type: "text", text: note }];
