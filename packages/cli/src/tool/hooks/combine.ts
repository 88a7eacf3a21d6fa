import type { HookOutcome } from "palimpsest/internal/ports/hooks";
import { type HookAnswer, hookAnswerShape } from "palimpsest/internal/schema/hook-answer";
import type { HookEventName } from "palimpsest/internal/schema/hook";
import type { HookRun } from "./answer.ts";
import { ruleByEvent } from "./event-rules.ts";
import { hookTextCharsMax } from "./limits.ts";

export interface NamedRun {
  /** How a warning calls the hook. */
  readonly called: string;
  readonly run: HookRun;
}

/**
 * What hooks say together, in their order: one that blocks is enough, `ask` is stronger than `allow`, of several inputs
 * the last counts. What an event has no use for is a warning, never silently dropped.
 */
export function combine(event: HookEventName, runs: readonly NamedRun[]): HookOutcome {
  const answers = runs.flatMap(({ called, run }) => (run.kind === "said" ? [usable(event, { called, ...run })] : []));
  const blocks = [...texts(answers, "block"), ...interrupted(event, runs)];
  const stops = texts(answers, "stop");
  const permissions = new Set(answers.map(({ answer }) => answer.permission));
  const inputs = answers.map(({ answer }) => answer.updatedInput).filter((input) => input !== undefined);
  const updatedInput = inputs.at(-1);
  return {
    ...(blocks.length === 0 ? {} : { blocked: { reason: capped(blocks.join("\n")) } }),
    ...(stops.length === 0 ? {} : { stopped: { reason: capped(stops.join("\n")) } }),
    ...(blocks.length > 0 ? {} : permissionOf(permissions)),
    ...(updatedInput === undefined ? {} : { updatedInput }),
    context: texts(answers, "context").map(capped),
    messages: texts(answers, "message").map(capped),
    warnings: [
      ...runs.flatMap(({ called, run }) => (run.kind === "failed" ? [capped(`the hook ${called} ${run.why}`)] : [])),
      ...answers.flatMap(({ warnings }) => warnings.map(capped)),
      ...(inputs.length > 1 ? [`${inputs.length} hooks changed the input of one call; the last one's counts`] : []),
    ],
  };
}

interface Usable {
  readonly answer: HookAnswer;
  readonly warnings: readonly string[];
}

/** The answer without what its event has no use for. */
function usable(event: HookEventName, { called, answer }: { called: string; answer: HookAnswer }): Usable {
  const why = uselessIn(event);
  const parts = Object.entries(answer).filter(([, said]) => said !== undefined);
  return {
    answer: hookAnswerShape.parse(Object.fromEntries(parts.filter(([part]) => !why.has(part)))),
    warnings: parts
      .filter(([part]) => why.has(part))
      .map(([part, said]) => {
        const text = typeof said === "string" ? said : JSON.stringify(said);
        return `the hook ${called} said what ${event} has no use for, since it ${why.get(part)}: ${text}`;
      }),
  };
}

/** Parts of an answer that come to nothing, with the reason. */
function uselessIn(event: HookEventName): ReadonlyMap<string, string> {
  const { block, stop, context } = ruleByEvent[event];
  const useless: [keyof HookAnswer, string][] = [];
  if (block === "impossible") useless.push(["block", "can't be blocked"]);
  if (stop === "impossible") useless.push(["stop", "ends no turn"]);
  if (context === "none") useless.push(["context", "takes no text for the model"]);
  if (event !== "PreToolUse" && event !== "PermissionRequest")
    useless.push(["permission", "decides about no call"], ["updatedInput", "runs no call"]);
  return new Map(useless);
}

/** What was about to happen does not, where the hooks that could have forbidden it were cut short. */
const interrupted = (event: HookEventName, runs: readonly NamedRun[]): readonly string[] =>
  ruleByEvent[event].block === "before" && runs.some(({ run }) => run.kind === "aborted")
    ? ["interrupted before its hooks had ended"]
    : [];

const texts = (answers: readonly Usable[], key: "block" | "stop" | "context" | "message"): readonly string[] =>
  answers.flatMap(({ answer }) => answer[key] ?? []);

function permissionOf(said: ReadonlySet<HookAnswer["permission"]>): Pick<HookOutcome, "permission"> {
  if (said.has("ask")) return { permission: "ask" };
  return said.has("allow") ? { permission: "allow" } : {};
}

function capped(text: string): string {
  if (text.length <= hookTextCharsMax) return text;
  const over = text.length - hookTextCharsMax;
  return `${text.slice(0, hookTextCharsMax)}\n[${over.toLocaleString("en-US")} more characters left out: a hook's text holds at most ${hookTextCharsMax.toLocaleString("en-US")}]`;
}
