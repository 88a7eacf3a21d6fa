import { raceAbort } from "../schema/race-abort.ts";
import type { PermissionAnswer, PermissionPrompt, UserPort } from "../ports/user-port.ts";
import type { AllowRuleDep } from "../ports/tool.ts";
import type { LoopEvent } from "../schema/loop-event.ts";
import type { Channel } from "../context/channel.ts";

/** Admits one caller at a time, in the order of the calls. A caller must call the returned function when it is done. */
export class Turnstile {
  #last: Promise<void> = Promise.resolve();

  async enter(): Promise<() => void> {
    const previous = this.#last;
    const done = Promise.withResolvers<void>();
    this.#last = done.promise;
    await previous;
    return done.resolve;
  }
}

/** For agents that work at the same time: the user answers one of them, then the next. */
export function oneAtATime(user: UserPort): UserPort {
  const turnstile = new Turnstile();
  const inTurn = async <Answer>(ask: () => Promise<Answer>): Promise<Answer> => {
    const leave = await turnstile.enter();
    return await ask().finally(leave);
  };
  // What was interrupted while it waited is not shown any more.
  return {
    permission: (prompt, signal) =>
      inTurn(async () => (signal.aborted ? { kind: "interrupted" } : await user.permission(prompt, signal))),
    question: (prompt, signal) =>
      inTurn(async () => (signal.aborted ? { kind: "nobody" } : await user.question(prompt, signal))),
  };
}

/** `reason` is told to the model. */
type AskUserOutcome =
  | { readonly kind: "allowed" }
  /** `summary`: for the user, if it is not the reason. */
  | { readonly kind: "denied"; readonly reason: string; readonly summary?: string }
  | { readonly kind: "interrupted" };

/** Lets the user decide. A permanent permission is stored before this returns, so that it applies to the next call. */
export async function askUser(
  deps: AllowRuleDep & { readonly user: UserPort },
  {
    ask,
    signal,
    events,
  }: { readonly ask: PermissionPrompt; readonly signal: AbortSignal; readonly events: Channel<LoopEvent> },
): Promise<AskUserOutcome> {
  const { toolUse: id, tool, reason, suggestedRules } = ask;
  events.put({
    kind: "permission-start",
    id,
    tool,
    reason,
    ...(suggestedRules === undefined ? {} : { suggestedRules }),
  });
  const projectRuleNote = suggestedRules === undefined ? undefined : await deps.describeProjectRule?.();
  const prompt = projectRuleNote === undefined ? ask : { ...ask, projectRuleNote };
  const answer = await raceAbort(deps.user.permission(prompt, signal), {
    signal,
    // A turn that the user ended must not wait for them.
    instead: () => ({ kind: "interrupted" }) as const,
  });
  const rules = answer.kind === "always" ? await saveRules(deps, { answer, events }) : undefined;
  events.put({ kind: "permission-end", id, tool, answer: answer.kind, ...(rules === undefined ? {} : { rules }) });
  switch (answer.kind) {
    case "once":
    case "always":
      return { kind: "allowed" };
    case "denied":
      return { kind: "denied", reason: denialText(answer.words) };
    case "nobody":
      return { kind: "denied", reason: unaskedDenialText(reason), summary: reason };
    case "interrupted":
      return answer;
  }
}

/** Returns the rules that apply from now on. If they can't be used, the call is still allowed: the user has allowed it. */
async function saveRules(
  deps: AllowRuleDep,
  {
    answer: { rules, scope },
    events,
  }: { readonly answer: Extract<PermissionAnswer, { kind: "always" }>; readonly events: Channel<LoopEvent> },
): Promise<readonly string[] | undefined> {
  const outcome = await deps.allowAlways({ rules, scope });
  const warning = outcome.kind === "wrong" ? outcome.why : outcome.warning;
  if (warning !== undefined) events.put({ kind: "warning", code: "permission", message: warning });
  return outcome.kind === "kept" ? rules : undefined;
}

/** In the form by which a compaction finds what the user said about a denied call. */
const denialText = (words: string | undefined): string =>
  words === undefined || words.trim() === ""
    ? `${deniedByUser} Don't try it again in another way; go on without it, or ask.`
    : `${deniedByUser}${reasonPrefix}${words.trim()}`;

const reasonPrefix = " About how to go on, the user said:\n";

/** What the user said when they denied a call; empty if they said nothing. Undefined if the result is not a denial. */
export function denialReason(result: string): string | undefined {
  if (!result.startsWith(deniedByUser)) return undefined;
  const rest = result.slice(deniedByUser.length);
  return rest.startsWith(reasonPrefix) ? rest.slice(reasonPrefix.length) : "";
}

/** For the model, if nobody can be asked: in a script, for an agent in the background, for a teammate. */
export const unaskedDenialText = (reason: string): string =>
  `${deniedUnasked} ${reason.replace(/\.$/, "")}. Nobody can be asked here. Don't try it again in another way: do without it, or report that it is needed.`;

export const isUnaskedDenial = (result: string): boolean => result.startsWith(deniedUnasked);

const deniedUnasked = "This call was denied, because it needs the user's approval:";

/** The result of a denied call begins with this in the log. */
const deniedByUser = "The user denied this call.";
