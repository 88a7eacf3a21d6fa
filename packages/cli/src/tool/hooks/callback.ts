import type { HookCallbacks, HookEvent, HookEventOf } from "palimpsest/internal/ports/hooks";
import { hookAnswerShape } from "palimpsest/internal/schema/hook-answer";
import type { HookEventName } from "palimpsest/internal/schema/hook";
import { type HookRun, saidNothing } from "./answer.ts";
import { type CutLimits, cutShort } from "./cut.ts";

/** Undefined where nothing waits for the event. Must not reject: the function is somebody else's. */
export function callbackRun(
  callbacks: HookCallbacks,
  event: HookEvent,
  limits: CutLimits,
): Promise<HookRun> | undefined {
  const listening = listenerOf(callbacks, event);
  return listening === undefined ? undefined : limited(listening, limits);
}

type Listening = (signal: AbortSignal) => unknown;

/** One case an event: only so does the compiler know that a function gets the event it was written for. */
function listenerOf(callbacks: HookCallbacks, event: HookEvent): Listening | undefined {
  switch (event.name) {
    case "SessionStart":
      return bound(callbacks.SessionStart, event);
    case "SessionEnd":
      return bound(callbacks.SessionEnd, event);
    case "UserPromptSubmit":
      return bound(callbacks.UserPromptSubmit, event);
    case "PreToolUse":
      return bound(callbacks.PreToolUse, event);
    case "PostToolUse":
      return bound(callbacks.PostToolUse, event);
    case "PermissionRequest":
      return bound(callbacks.PermissionRequest, event);
    case "Notification":
      return bound(callbacks.Notification, event);
    case "Stop":
      return bound(callbacks.Stop, event);
    case "SubagentStart":
      return bound(callbacks.SubagentStart, event);
    case "SubagentStop":
      return bound(callbacks.SubagentStop, event);
    case "PreCompact":
      return bound(callbacks.PreCompact, event);
    case "PostCompact":
      return bound(callbacks.PostCompact, event);
    case "InstructionsLoaded":
      return bound(callbacks.InstructionsLoaded, event);
  }
}

const bound = <Name extends HookEventName>(
  callback: ((event: HookEventOf<Name>, signal: AbortSignal) => unknown) | undefined,
  event: HookEventOf<Name>,
): Listening | undefined => (callback === undefined ? undefined : (signal) => callback(event, signal));

async function limited(listening: Listening, limits: CutLimits): Promise<HookRun> {
  if (limits.signal.aborted) return { kind: "aborted" };
  const ending = new AbortController();
  const cut = cutShort(limits);
  try {
    return await Promise.race([answered(listening, ending.signal), cut.first.then(cutRun)]);
  } finally {
    cut.release();
    ending.abort();
  }
}

const cutRun = (why: "timed-out" | "aborted"): HookRun =>
  why === "aborted" ? { kind: why } : { kind: "failed", why: "did not answer within its time limit" };

async function answered(listening: Listening, signal: AbortSignal): Promise<HookRun> {
  try {
    const answer: unknown = await listening(signal);
    if (answer === undefined) return saidNothing;
    const read = hookAnswerShape.safeParse(answer);
    return read.success
      ? { kind: "said", answer: read.data }
      : { kind: "failed", why: "answered what is no answer of a hook" };
  } catch (error) {
    return { kind: "failed", why: `threw: ${error instanceof Error ? error.message : String(error)}` };
  }
}
