import { raceAbort } from "../schema/race-abort.ts";
import type { PermissionAnswer, PermissionPrompt, UserPort } from "../ports/user-port.ts";
import type { AllowRuleDep } from "../ports/tool.ts";
import type { LoopEvent } from "../schema/loop-event.ts";
import type { Channel } from "../context/channel.ts";

/** Lets one in at a time, in the order in which they came. Whoever came in calls what it was given to go out again. */
export class Turnstile {
  #last: Promise<void> = Promise.resolve();

  async enter(): Promise<() => void> {
    const before = this.#last;
    const over = Promise.withResolvers<void>();
    this.#last = over.promise;
    await before;
    return over.resolve;
  }
}

/** `reason` is told to the model. */
type AskUserOutcome =
  | { readonly kind: "allowed" }
  | { readonly kind: "denied"; readonly reason: string }
  | { readonly kind: "interrupted" };

/** Leaves the call to a person. A leave for good counts before this returns, so that the next call need not be asked about. */
export async function askUser(
  deps: AllowRuleDep & { readonly person: UserPort },
  asking: { readonly ask: PermissionPrompt; readonly signal: AbortSignal; readonly events: Channel<LoopEvent> },
): Promise<AskUserOutcome> {
  const { ask, signal, events } = asking;
  const { toolUse: id, tool, reason, suggestedRules } = ask;
  events.put({
    kind: "permission-start",
    id,
    tool,
    reason,
    ...(suggestedRules === undefined ? {} : { suggestedRules }),
  });
  const projectRuleNote = suggestedRules === undefined ? undefined : await deps.describeProjectRule?.();
  const told = projectRuleNote === undefined ? ask : { ...ask, projectRuleNote };
  const answer = await raceAbort(deps.person.permission(told, signal), {
    signal,
    // A turn that the user ended must not wait for them.
    instead: () => ({ kind: "interrupted" }) as const,
  });
  const rules = answer.kind === "always" ? await saveRules(deps, { leave: answer, events }) : undefined;
  events.put({ kind: "permission-end", id, tool, answer: answer.kind, ...(rules === undefined ? {} : { rules }) });
  switch (answer.kind) {
    case "once":
    case "always":
      return { kind: "allowed" };
    case "denied":
      return { kind: "denied", reason: denialText(answer.words) };
    case "nobody":
      return { kind: "denied", reason };
    case "interrupted":
      return answer;
  }
}

/** The rules that count from now on. What is none costs the rules, not the call: that the person has allowed. */
async function saveRules(
  deps: AllowRuleDep,
  {
    leave: { rules, scope },
    events,
  }: { readonly leave: Extract<PermissionAnswer, { kind: "always" }>; readonly events: Channel<LoopEvent> },
): Promise<readonly string[] | undefined> {
  const outcome = await deps.allowAlways({ rules, scope });
  const warning = outcome.kind === "wrong" ? outcome.why : outcome.warning;
  if (warning !== undefined) events.put({ kind: "warning", code: "permission", message: warning });
  return outcome.kind === "kept" ? rules : undefined;
}

/** In the form by which a compaction finds what a person said of a call that they did not allow. */
const denialText = (words: string | undefined): string =>
  words === undefined || words.trim() === ""
    ? `${deniedByUser} Don't try it again in another way; go on without it, or ask.`
    : `${deniedByUser}${reasonPrefix}${words.trim()}`;

const reasonPrefix = " About how to go on, the user said:\n";

/** What a person said with such a result: nothing where they only denied it. Undefined where it is none. */
export function denialReason(result: string): string | undefined {
  if (!result.startsWith(deniedByUser)) return undefined;
  const behind = result.slice(deniedByUser.length);
  return behind.startsWith(reasonPrefix) ? behind.slice(reasonPrefix.length) : "";
}

/** With which the log's result of such a call begins. */
const deniedByUser = "The user denied this call.";
