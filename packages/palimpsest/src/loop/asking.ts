import { unlessAborted } from "../schema/unless-aborted.ts";
import type { PermissionAnswer, PermissionAsk, Person } from "../ports/person.ts";
import type { LeaveDep } from "../ports/tools.ts";
import type { LoopEvent } from "../schema/event.ts";
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

export interface Asking {
  readonly ask: PermissionAsk;
  readonly signal: AbortSignal;
  readonly events: Channel<LoopEvent>;
}

/** `reason` is told to the model. */
export type Asked =
  | { readonly kind: "allowed" }
  | { readonly kind: "denied"; readonly reason: string }
  | { readonly kind: "interrupted" };

/** Leaves the call to a person. A leave for good counts before this returns, so that the next call need not be asked about. */
export async function askPerson(deps: LeaveDep & { readonly person: Person }, asking: Asking): Promise<Asked> {
  const { ask, signal, events } = asking;
  const { toolUse: id, tool, reason, suggestedRules } = ask;
  events.put({
    kind: "permission-start",
    id,
    tool,
    reason,
    ...(suggestedRules === undefined ? {} : { suggestedRules }),
  });
  const projectLeave = suggestedRules === undefined ? undefined : await deps.projectLeave?.();
  const told = projectLeave === undefined ? ask : { ...ask, projectLeave };
  const answer = await unlessAborted(deps.person.permission(told, signal), {
    signal,
    // A turn that the user ended must not wait for them.
    instead: () => ({ kind: "interrupted" }) as const,
  });
  const rules = answer.kind === "always" ? await kept(deps, { leave: answer, events }) : undefined;
  events.put({ kind: "permission-end", id, tool, answer: answer.kind, ...(rules === undefined ? {} : { rules }) });
  switch (answer.kind) {
    case "once":
    case "always":
      return { kind: "allowed" };
    case "denied":
      return { kind: "denied", reason: refusal(answer.words) };
    case "nobody":
      return { kind: "denied", reason };
    case "interrupted":
      return answer;
  }
}

interface Keeping {
  readonly leave: Extract<PermissionAnswer, { kind: "always" }>;
  readonly events: Channel<LoopEvent>;
}

/** The rules that count from now on. What is none costs the rules, not the call: that the person has allowed. */
async function kept(
  deps: LeaveDep,
  { leave: { rules, scope }, events }: Keeping,
): Promise<readonly string[] | undefined> {
  const outcome = await deps.allowAlways({ rules, scope });
  const warning = outcome.kind === "wrong" ? outcome.why : outcome.warning;
  if (warning !== undefined) events.put({ kind: "warning", code: "permission", message: warning });
  return outcome.kind === "kept" ? rules : undefined;
}

/** In the form by which a compaction finds what a person said of a call that they did not allow. */
const refusal = (words: string | undefined): string =>
  words === undefined || words.trim() === ""
    ? `${deniedByPerson} Don't try it again in another way; go on without it, or ask.`
    : `${deniedByPerson}${saidWith}${words.trim()}`;

const saidWith = " About how to go on, the user said:\n";

/** What a person said with such a result: nothing where they only denied it. Undefined where it is none. */
export function wordsOfDenial(result: string): string | undefined {
  if (!result.startsWith(deniedByPerson)) return undefined;
  const behind = result.slice(deniedByPerson.length);
  return behind.startsWith(saidWith) ? behind.slice(saidWith.length) : "";
}

/** With which the log's result of such a call begins. */
const deniedByPerson = "The user denied this call.";
