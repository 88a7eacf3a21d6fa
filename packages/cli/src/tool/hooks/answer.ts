import { type HookAnswer, type HookOutput, hookOutputShape } from "palimpsest/internal/schema/hook-answer";
import type { HookEventName } from "palimpsest/internal/schema/hook";
import { parseJson, type Json } from "palimpsest/internal/schema/json";
import { ruleByEvent } from "./event-rules.ts";
import { hookOutputBytesMax } from "./limits.ts";
import type { Captured, HookEnd } from "./process.ts";

/** What became of one hook. `failed` ends the sentence "the hook …". */
export type HookRun =
  | { readonly kind: "said"; readonly answer: HookAnswer }
  | { readonly kind: "failed"; readonly why: string }
  | { readonly kind: "aborted" };

export const saidNothing: HookRun = { kind: "said", answer: {} };

/** What the end of a command means: exit code 0 speaks through its output, 2 blocks, any other is a failure. */
export function runOf(end: HookEnd, event: HookEventName): HookRun {
  switch (end.kind) {
    case "exited":
      return exitedRun(end, event);
    case "killed":
      return failed(`was ended by ${end.signal}`);
    case "timed-out":
      return failed("did not end within its time limit and was ended");
    case "aborted":
      return { kind: "aborted" };
    case "not-started":
      return failed(`could not be started: ${end.why}`);
  }
}

const failed = (why: string): HookRun => ({ kind: "failed", why });

function exitedRun({ code, stdout, stderr }: Extract<HookEnd, { kind: "exited" }>, event: HookEventName): HookRun {
  const said = stderr.text.trim();
  if (code === 0) return printedRun(stdout, event);
  if (code === 2)
    return { kind: "said", answer: { block: said === "" ? "a hook blocked it and gave no reason" : said } };
  return failed(`ended with exit code ${code}${said === "" ? "" : `: ${said}`}`);
}

function printedRun(stdout: Captured, event: HookEventName): HookRun {
  const text = stdout.text.trim();
  if (text === "") return saidNothing;
  if (!text.startsWith("{")) {
    return ruleByEvent[event].context === "printed" ? { kind: "said", answer: { context: text } } : saidNothing;
  }
  if (stdout.extent === "cut")
    return failed(
      `printed more than ${hookOutputBytesMax.toLocaleString("en-US")} bytes of JSON; it counts for nothing`,
    );
  const json = jsonOf(text);
  if (json === undefined) return failed("printed what begins like JSON and is none; it counts for nothing");
  const read = hookOutputShape.safeParse(json);
  if (read.success) return { kind: "said", answer: answerOf(read.data) };
  const wrong = read.error.issues.map(({ path }) => path.map(String).join(".")).join(", ");
  return failed(`printed JSON with a wrong value at ${wrong}; it counts for nothing`);
}

function jsonOf(text: string): Json | undefined {
  try {
    return parseJson(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return undefined;
  }
}

function answerOf(output: HookOutput): HookAnswer {
  const { additionalContext, updatedInput, decision: asked } = output.hookSpecificOutput ?? {};
  const block = blockOf(output);
  const permission = permissionOf(output);
  const input = asked?.updatedInput ?? updatedInput;
  return {
    ...(block === undefined ? {} : { block }),
    ...(output.continue === false ? { stop: output.stopReason ?? "a hook ended the turn and gave no reason" } : {}),
    ...(additionalContext === undefined ? {} : { context: additionalContext }),
    ...(output.systemMessage === undefined ? {} : { message: output.systemMessage }),
    ...(permission === undefined ? {} : { permission }),
    ...(input === undefined ? {} : { updatedInput: input }),
  };
}

function blockOf({ decision, reason, hookSpecificOutput }: HookOutput): string | undefined {
  const { permissionDecision, permissionDecisionReason, decision: asked } = hookSpecificOutput ?? {};
  const denied = decision === "block" || permissionDecision === "deny" || asked?.behavior === "deny";
  if (!denied) return undefined;
  return asked?.message ?? permissionDecisionReason ?? reason ?? "a hook blocked it and gave no reason";
}

function permissionOf({ decision, hookSpecificOutput }: HookOutput): HookAnswer["permission"] {
  const { permissionDecision, decision: asked } = hookSpecificOutput ?? {};
  if (permissionDecision === "ask") return "ask";
  const allowed = permissionDecision === "allow" || asked?.behavior === "allow" || decision === "approve";
  return allowed ? "allow" : undefined;
}
