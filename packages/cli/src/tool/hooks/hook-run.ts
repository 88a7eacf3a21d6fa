import {
  type HookAnswer,
  type HookOutput,
  hookOutputShape,
  type HookEventName,
  hookAnswerShape,
} from "palimpsest/internal/schema/hook";
import { parseJson, type Json } from "palimpsest/internal/schema/json";
import { hookOutputBytesMax, hookTextCharsMax, hookTimeoutMs, sessionEndTimeoutMs } from "./limits.ts";
import type { CapturedStream, HookProcessEnd } from "./hook-process.ts";
import type { HookOutcome, HookEvent } from "palimpsest/internal/ports/hooks";
import type { Millis } from "palimpsest/internal/schema/brand";

/** The outcome of one hook. `why` of `failed` completes the sentence "the hook …". */
export type HookRun =
  | { readonly kind: "said"; readonly answer: HookAnswer }
  | { readonly kind: "failed"; readonly why: string }
  | { readonly kind: "aborted" };

export const silentRun: HookRun = { kind: "said", answer: {} };

/** Interprets how a command ended: exit code 0 answers through its output, 2 blocks, any other is a failure. */
export function interpretEnd(end: HookProcessEnd, event: HookEventName): HookRun {
  switch (end.kind) {
    case "exited":
      return interpretExit(end, event);
    case "killed":
      return failRun(`was ended by ${end.signal}`);
    case "timed-out":
      return failRun("did not end within its time limit and was ended");
    case "aborted":
      return { kind: "aborted" };
    case "not-started":
      return failRun(`could not be started: ${end.why}`);
  }
}

const failRun = (why: string): HookRun => ({ kind: "failed", why });

function interpretExit(
  { code, stdout, stderr }: Extract<HookProcessEnd, { kind: "exited" }>,
  event: HookEventName,
): HookRun {
  const errorText = stderr.text.trim();
  if (code === 0) return interpretOutput(stdout, event);
  if (code === 2)
    return { kind: "said", answer: { block: errorText === "" ? "a hook blocked it and gave no reason" : errorText } };
  return failRun(`ended with exit code ${code}${errorText === "" ? "" : `: ${errorText}`}`);
}

function interpretOutput(stdout: CapturedStream, event: HookEventName): HookRun {
  const text = stdout.text.trim();
  if (text === "") return silentRun;
  if (!text.startsWith("{")) {
    return ruleByEvent[event].context === "printed" ? { kind: "said", answer: { context: text } } : silentRun;
  }
  if (stdout.extent === "cut")
    return failRun(`printed more than ${hookOutputBytesMax.toLocaleString("en-US")} bytes of JSON; it is ignored`);
  const json = tryParseJson(text);
  if (json === undefined) return failRun("printed invalid JSON; it is ignored");
  const read = hookOutputShape.safeParse(json);
  if (read.success) return { kind: "said", answer: toHookAnswer(read.data) };
  const wrong = read.error.issues.map(({ path }) => path.map(String).join(".")).join(", ");
  return failRun(`printed JSON with a wrong value at ${wrong}; it is ignored`);
}

function tryParseJson(text: string): Json | undefined {
  try {
    return parseJson(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return undefined;
  }
}

function toHookAnswer(output: HookOutput): HookAnswer {
  const { additionalContext, updatedInput, decision: requestDecision } = output.hookSpecificOutput ?? {};
  const block = findBlockReason(output);
  const permission = findPermission(output);
  const input = requestDecision?.updatedInput ?? updatedInput;
  return {
    ...(block === undefined ? {} : { block }),
    ...(output.continue === false ? { stop: output.stopReason ?? "a hook ended the turn and gave no reason" } : {}),
    ...(additionalContext === undefined ? {} : { context: additionalContext }),
    ...(output.systemMessage === undefined ? {} : { message: output.systemMessage }),
    ...(permission === undefined ? {} : { permission }),
    ...(input === undefined ? {} : { updatedInput: input }),
  };
}

function findBlockReason({ decision, reason, hookSpecificOutput }: HookOutput): string | undefined {
  const { permissionDecision, permissionDecisionReason, decision: requestDecision } = hookSpecificOutput ?? {};
  const denied = decision === "block" || permissionDecision === "deny" || requestDecision?.behavior === "deny";
  if (!denied) return undefined;
  return requestDecision?.message ?? permissionDecisionReason ?? reason ?? "a hook blocked it and gave no reason";
}

function findPermission({ decision, hookSpecificOutput }: HookOutput): HookAnswer["permission"] {
  const { permissionDecision, decision: requestDecision } = hookSpecificOutput ?? {};
  if (permissionDecision === "ask") return "ask";
  const allowed = permissionDecision === "allow" || requestDecision?.behavior === "allow" || decision === "approve";
  return allowed ? "allow" : undefined;
}

export interface NamedRun {
  /** The name of the hook in warnings. */
  readonly called: string;
  readonly run: HookRun;
}

/**
 * Combines the answers of all hooks in order: one block is enough, `ask` is stronger than `allow`, and the last changed
 * input wins. Anything the event can't use becomes a warning, never silently dropped.
 */
export function combineRuns(event: HookEventName, runs: readonly NamedRun[]): HookOutcome {
  const answers = runs.flatMap(({ called, run }) =>
    run.kind === "said" ? [keepUsable(event, { called, ...run })] : [],
  );
  const blocks = [...collectTexts(answers, "block"), ...interruptionReasons(event, runs)];
  const stops = collectTexts(answers, "stop");
  const permissions = new Set(answers.map(({ answer }) => answer.permission));
  const inputs = answers.map(({ answer }) => answer.updatedInput).filter((input) => input !== undefined);
  const updatedInput = inputs.at(-1);
  return {
    ...(blocks.length === 0 ? {} : { blocked: { reason: capText(blocks.join("\n")) } }),
    ...(stops.length === 0 ? {} : { stopped: { reason: capText(stops.join("\n")) } }),
    ...(blocks.length > 0 ? {} : strongestPermission(permissions)),
    ...(updatedInput === undefined ? {} : { updatedInput }),
    context: collectTexts(answers, "context").map(capText),
    messages: collectTexts(answers, "message").map(capText),
    warnings: [
      ...runs.flatMap(({ called, run }) => (run.kind === "failed" ? [capText(`the hook ${called} ${run.why}`)] : [])),
      ...answers.flatMap(({ warnings }) => warnings.map(capText)),
      ...(inputs.length > 1 ? [`${inputs.length} hooks changed the input of one call; the last one's counts`] : []),
    ],
  };
}

interface UsableAnswer {
  readonly answer: HookAnswer;
  readonly warnings: readonly string[];
}

/** The answer without the parts that its event can't use. */
function keepUsable(event: HookEventName, { called, answer }: { called: string; answer: HookAnswer }): UsableAnswer {
  const why = uselessParts(event);
  const parts = Object.entries(answer).filter(([, value]) => value !== undefined);
  return {
    answer: hookAnswerShape.parse(Object.fromEntries(parts.filter(([part]) => !why.has(part)))),
    warnings: parts
      .filter(([part]) => why.has(part))
      .map(([part, value]) => {
        const text = typeof value === "string" ? value : JSON.stringify(value);
        return `the hook ${called} answered something that ${event} can't use, because it ${why.get(part)}: ${text}`;
      }),
  };
}

/** Parts of an answer that the event can't use, with the reason. */
function uselessParts(event: HookEventName): ReadonlyMap<string, string> {
  const { block, stop, context } = ruleByEvent[event];
  const useless: [keyof HookAnswer, string][] = [];
  if (block === "impossible") useless.push(["block", "can't be blocked"]);
  if (stop === "impossible") useless.push(["stop", "ends no turn"]);
  if (context === "none") useless.push(["context", "takes no text for the model"]);
  if (event !== "PreToolUse" && event !== "PermissionRequest")
    useless.push(["permission", "decides about no call"], ["updatedInput", "runs no call"]);
  return new Map(useless);
}

/** If the hooks that could have blocked it were interrupted, the action does not happen. */
const interruptionReasons = (event: HookEventName, runs: readonly NamedRun[]): readonly string[] =>
  ruleByEvent[event].block === "before" && runs.some(({ run }) => run.kind === "aborted")
    ? ["interrupted before its hooks had ended"]
    : [];

const collectTexts = (
  answers: readonly UsableAnswer[],
  key: "block" | "stop" | "context" | "message",
): readonly string[] => answers.flatMap(({ answer }) => answer[key] ?? []);

function strongestPermission(permissions: ReadonlySet<HookAnswer["permission"]>): Pick<HookOutcome, "permission"> {
  if (permissions.has("ask")) return { permission: "ask" };
  return permissions.has("allow") ? { permission: "allow" } : {};
}

function capText(text: string): string {
  if (text.length <= hookTextCharsMax) return text;
  const over = text.length - hookTextCharsMax;
  return `${text.slice(0, hookTextCharsMax)}\n[${over.toLocaleString("en-US")} more characters left out: a hook's text holds at most ${hookTextCharsMax.toLocaleString("en-US")}]`;
}

/** What the hooks of an event can do. */
interface EventRule {
  /**
   * `before`: blocking prevents what the event announces. `after`: it has already happened; the model is told and goes
   * on.
   */
  readonly block: "before" | "after" | "impossible";
  /** Whether `continue: false` ends the turn. */
  readonly stop: "possible" | "impossible";
  /**
   * What reaches the model: `printed`, also a command's output without JSON; `said`, only what its JSON names as
   * context.
   */
  readonly context: "printed" | "said" | "none";
  readonly timeoutMs: Millis;
}

const eventRule = (block: EventRule["block"], context: EventRule["context"]): EventRule => ({
  block,
  stop: "possible",
  context,
  timeoutMs: hookTimeoutMs,
});

export const ruleByEvent: { readonly [Name in HookEventName]: EventRule } = {
  SessionStart: eventRule("impossible", "printed"),
  SessionEnd: { ...eventRule("impossible", "none"), stop: "impossible", timeoutMs: sessionEndTimeoutMs },
  UserPromptSubmit: eventRule("before", "printed"),
  PreToolUse: eventRule("before", "said"),
  PostToolUse: eventRule("after", "said"),
  PermissionRequest: eventRule("before", "none"),
  Notification: { ...eventRule("impossible", "none"), stop: "impossible" },
  Stop: eventRule("after", "none"),
  SubagentStart: eventRule("impossible", "said"),
  SubagentStop: eventRule("after", "none"),
  PreCompact: { ...eventRule("before", "printed"), stop: "impossible" },
  PostCompact: { ...eventRule("impossible", "none"), stop: "impossible" },
  InstructionsLoaded: { ...eventRule("impossible", "none"), stop: "impossible" },
};

/** What a matcher is compared with; undefined if the event has only one kind, so that every matcher fits. */
export function matcherNames(event: HookEvent): readonly string[] | undefined {
  switch (event.name) {
    case "PreToolUse":
    case "PostToolUse":
    case "PermissionRequest":
      return [...new Set([event.tool, publicToolName(event.tool)])];
    case "SessionStart":
      return [event.source];
    case "SessionEnd":
    case "InstructionsLoaded":
      return [event.reason];
    case "Notification":
      return [event.type];
    case "PreCompact":
    case "PostCompact":
      return [event.trigger];
    case "SubagentStart":
    case "SubagentStop":
      return [event.agentType];
    case "UserPromptSubmit":
    case "Stop":
      return undefined;
  }
}

/** The name by which users' matchers and scripts know a tool; a tool that only we have keeps its own. */
export const publicToolName = (tool: string): string => publicNameByTool.get(tool) ?? tool;

const publicNameByTool: ReadonlyMap<string, string> = new Map([
  ["read", "Read"],
  ["write", "Write"],
  ["edit", "Edit"],
  ["bash", "Bash"],
  ["grep", "Grep"],
  ["glob", "Glob"],
  ["todo", "TodoWrite"],
  ["web_fetch", "WebFetch"],
  ["agent", "Task"],
]);
