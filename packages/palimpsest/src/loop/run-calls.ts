import type { Tool, ToolOutcome, ToolPlan } from "../ports/tool.ts";
import type { HookPayload, HookOutcome } from "../ports/hooks.ts";
import type { ToolUseBlock } from "../schema/block.ts";
import type { LoopEvent } from "../schema/loop-event.ts";
import type { JsonObject } from "../schema/json.ts";
import { abortGraceMs, parallelCallsMax } from "./limits.ts";
import { summaryCharsMax } from "../context/limits.ts";
import type { Conversation } from "../context/conversation.ts";
import type { CallDeps } from "../context/deps.ts";
import { askUser, Turnstile, denialReason, unaskedDenialText } from "./ask-user.ts";
import { Channel } from "../context/channel.ts";
import type { ReplyCall } from "../context/reply/reply-recorder.ts";
import type { CallResult } from "../context/reply/round-results.ts";

interface CallsInput {
  readonly conversation: Conversation;
  readonly calls: readonly ReplyCall[];
  readonly signal: AbortSignal;
  /** Called with each result as soon as it is there. Must report its own write failures. */
  readonly onResult: (result: CallResult) => Promise<void>;
}

/**
 * Runs the calls of one reply: adjacent read-only calls run in parallel, everything else alone and in order. An abort ends
 * running calls; calls that have not started do not start.
 */
export async function* runCalls(deps: CallDeps, input: CallsInput): AsyncGenerator<LoopEvent> {
  for (const batch of splitIntoBatches(deps.tools, input.calls)) {
    if (input.signal.aborted) return;
    yield* runBatch(deps, { ...input, calls: batch });
  }
}

/** Keeps the order of the calls. An unknown tool runs nothing, so it counts as read-only. */
function splitIntoBatches(tools: readonly Tool[], calls: readonly ReplyCall[]): readonly (readonly ReplyCall[])[] {
  const batches: ReplyCall[][] = [];
  let previousReads = false;
  for (const call of calls) {
    const reads = findTool(tools, call.call)?.effect !== "write";
    const last = batches.at(-1);
    if (last !== undefined && reads && previousReads && last.length < parallelCallsMax) last.push(call);
    else batches.push([call]);
    previousReads = reads;
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
  const settling = Promise.allSettled(running).finally(() => events.close());
  yield* events;
  const settled = await settling;
  const bug = settled.find((result) => result.status === "rejected");
  if (bug !== undefined) throw bug.reason;
}

interface CallRun extends Omit<CallsInput, "calls"> {
  readonly call: ToolUseBlock;
  readonly flawed: string | undefined;
  readonly events: Channel<LoopEvent>;
  /** The user is asked about one call at a time: a permanent permission for one may apply to the others. */
  readonly turnstile: Turnstile;
}

async function runCall(deps: CallDeps, callRun: CallRun): Promise<CallResult> {
  const { call } = callRun;
  const tool = findTool(deps.tools, call);
  const failed = (content: string): CallResult => ({
    call,
    tool,
    outcome: "failed",
    content,
    summary: firstLine(content),
  });
  if (tool === undefined) return failed(`There is no tool called ${call.name}.`);
  // The intended input is unknown: running the call with part of it could do harm.
  if (callRun.flawed !== undefined) return failed(`The call was not run: ${callRun.flawed}`);
  const before = await fireHook(deps, {
    callRun,
    payload: { name: "PreToolUse", ...toolUsePayload(deps.tools, call) },
  });
  const judged =
    before.blocked === undefined
      ? await judgeCall(deps, { callRun, tool, input: before.updatedInput ?? call.input, byHook: before.permission })
      : { outcome: "denied" as const, content: `A hook stopped this call: ${before.blocked.reason}` };
  const ended = "run" in judged ? await judged.run() : { summary: callSummary(judged.content), ...judged, notes: [] };
  const content = [...before.context, ...ended.notes].reduce(appendNote, ended.content);
  const stopped = before.stopped?.reason ?? ("stopped" in ended ? ended.stopped : undefined);
  const { outcome, summary } = ended;
  return { call, tool, outcome, content, summary, stopped };
}

const toolUsePayload = (tools: readonly Tool[], call: ToolUseBlock) => ({
  tool: findTool(tools, call)?.knownAs?.(call.input) ?? call.name,
  input: call.input,
  toolUse: call.id,
});

interface JudgeInput {
  readonly callRun: CallRun;
  readonly tool: Tool;
  readonly input: JsonObject;
  readonly byHook: "allow" | "ask" | undefined;
}

type JudgeOutcome =
  /** `summary`: for the user, if it is not the beginning of the content. */
  | { readonly outcome: "failed" | "denied" | "interrupted"; readonly content: string; readonly summary?: string }
  | { run(): Promise<ToolRunOutcome> };

interface ToolRunOutcome {
  readonly outcome: "done" | "failed" | "interrupted";
  readonly content: ToolOutcome["content"];
  readonly summary: string;
  /** For the model, appended to the result. */
  readonly notes: readonly string[];
  readonly stopped?: string | undefined;
}

/** May a call run with this input? A hook that answers for the user may change the input, which is then judged again. */
async function judgeCall(deps: CallDeps, { callRun, tool, input, byHook }: JudgeInput): Promise<JudgeOutcome> {
  const plan = await planCall(deps, { callRun, tool, input });
  if (plan.kind === "wrong") return { outcome: "failed", content: plan.message };
  const verdict = await deps.permit({ tool: tool.name, input, acts: plan.acts });
  if (verdict.kind === "denied") return { outcome: "denied", content: verdict.reason };
  if (callRun.signal.aborted) return { outcome: "interrupted", content: interruptedByUser };
  const isForUser = verdict.kind === "ask" && verdict.answeredBy === "user";
  const needsAnswer = verdict.kind === "ask" ? byHook !== "allow" || isForUser : byHook === "ask";
  if (!needsAnswer) return { run: () => runTool(deps, { callRun, plan, input }) };
  const known = tool.knownAs?.(input) ?? tool.name;
  const hook = await fireHook(deps, { callRun, payload: { name: "PermissionRequest", tool: known, input } });
  const reason = verdict.kind === "ask" ? verdict.reason : "A hook wants a person to decide this call.";
  if (hook.blocked !== undefined) return { outcome: "denied", content: hook.blocked.reason };
  if (hook.permission !== "allow" || isForUser)
    return letUserDecide(deps, { callRun, tool, input, plan, reason, byHook });
  if (hook.updatedInput !== undefined)
    return judgeCall(deps, { callRun, tool, input: hook.updatedInput, byHook: "allow" });
  return { run: () => runTool(deps, { callRun, plan, input }) };
}

interface UserDecisionInput extends JudgeInput {
  readonly plan: Extract<ToolPlan, { kind: "ready" }>;
  readonly reason: string;
}

/** Judges the call again when its turn comes: rules may have been added since. */
async function letUserDecide(
  deps: CallDeps,
  { callRun, tool, input, plan, reason, byHook }: UserDecisionInput,
): Promise<JudgeOutcome> {
  if (deps.asking === undefined)
    return { outcome: "denied", content: unaskedDenialText(reason), summary: firstLine(reason) };
  const { acts } = plan;
  const leave = await callRun.turnstile.enter();
  try {
    const verdict = await deps.permit({ tool: tool.name, input, acts });
    if (verdict.kind === "denied") return { outcome: "denied", content: verdict.reason };
    if (callRun.signal.aborted) return { outcome: "interrupted", content: interruptedByUser };
    if (verdict.kind === "allowed" && byHook !== "ask") return { run: () => runTool(deps, { callRun, plan, input }) };
    const { suggestedRules } = verdict.kind === "ask" ? verdict : {};
    const rules = suggestedRules === undefined ? {} : { suggestedRules };
    const ask = { toolUse: callRun.call.id, tool: tool.name, input, acts, reason, ...rules };
    const answer = await askUser(deps.asking, { ask, signal: callRun.signal, events: callRun.events });
    switch (answer.kind) {
      case "allowed":
        return { run: () => runTool(deps, { callRun, plan, input }) };
      case "denied":
        return {
          outcome: "denied",
          content: answer.reason,
          ...(answer.summary === undefined ? {} : { summary: firstLine(answer.summary) }),
        };
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
    callRun,
    plan,
    input,
  }: { readonly callRun: CallRun; readonly plan: Extract<ToolPlan, { kind: "ready" }>; readonly input: JsonObject },
): Promise<ToolRunOutcome> {
  // The user or a hook may have answered only after the abort.
  if (callRun.signal.aborted)
    return { outcome: "interrupted", content: interruptedByUser, summary: interruptedByUser, notes: [] };
  const outcome = await runWithGrace(plan, callRun.signal);
  const response = typeof outcome.content === "string" ? outcome.content : [...outcome.content];
  const payload = { name: "PostToolUse", ...toolUsePayload(deps.tools, callRun.call), input, response } as const;
  const after = await fireHook(deps, { callRun, payload });
  return {
    outcome: callRun.signal.aborted ? "interrupted" : outcome.isError === true ? "failed" : "done",
    content: outcome.content,
    summary: outcome.summary,
    notes: [...(after.blocked === undefined ? [] : [after.blocked.reason]), ...after.context],
    stopped: after.stopped?.reason,
  };
}

async function fireHook(
  deps: CallDeps,
  { callRun, payload }: { readonly callRun: CallRun; readonly payload: HookPayload },
): Promise<HookOutcome> {
  const outcome = await deps.hooks.fire({ ...deps.place(), ...payload }, callRun.signal);
  for (const message of [...outcome.messages, ...outcome.warnings])
    callRun.events.put({ kind: "warning", code: "hook", message });
  return outcome;
}

async function planCall(
  deps: CallDeps,
  { callRun, tool, input }: { readonly callRun: CallRun; readonly tool: Tool; readonly input: JsonObject },
): Promise<ToolPlan> {
  const { files } = callRun.conversation;
  const context = { toolUse: callRun.call.id, cwd: deps.cwd(), files, now: deps.now() };
  try {
    return await tool.plan(input, context);
  } catch (error) {
    return { kind: "wrong", message: `${tool.name} failed before it began: ${String(error)}` };
  }
}

/** A tool may throw: the error is the result. A tool that ignores an abort is abandoned after a grace period. */
async function runWithGrace(plan: Extract<ToolPlan, { kind: "ready" }>, signal: AbortSignal): Promise<ToolOutcome> {
  const outcome = Promise.withResolvers<ToolOutcome>();
  const startGrace = (): void => {
    const timer = setTimeout(() => outcome.resolve(interruptedOutcome), abortGraceMs);
    void outcome.promise.finally(() => clearTimeout(timer));
  };
  if (signal.aborted) startGrace();
  signal.addEventListener("abort", startGrace, { once: true });
  plan.run(signal).then(outcome.resolve, (error: unknown) => {
    const content = `The tool failed: ${String(error)}`;
    outcome.resolve(signal.aborted ? interruptedOutcome : { content, isError: true, summary: firstLine(content) });
  });
  return outcome.promise.finally(() => signal.removeEventListener("abort", startGrace));
}

/** The result of an interrupted call in the log. */
export const interruptedByUser = "[The person interrupted this call.]";

const interruptedOutcome: ToolOutcome = { content: interruptedByUser, isError: true, summary: interruptedByUser };

/** For the user: their own words, not the text for the model. */
const callSummary = (content: string): string => denialReason(content)?.slice(0, summaryCharsMax) ?? firstLine(content);

const firstLine = (text: string): string => text.slice(0, summaryCharsMax).split("\n", 1)[0] ?? "";

const appendNote = (content: ToolOutcome["content"], note: string): ToolOutcome["content"] =>
  typeof content === "string" ? `${content}\n\n${note}` : [...content, { type: "text", text: note }];
