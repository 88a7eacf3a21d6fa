import { causeText } from "../../cache/breaks.ts";
import type { WriteFailure } from "../../ports/blobs.ts";
import type { ClockDep } from "../../ports/clock.ts";
import type { LoopEvent } from "../../schema/event.ts";
import { clearBefore, type ClearBefore } from "./clearing.ts";
import type { Conversation } from "../conversation.ts";
import type { NumbersDep, ReminderDeps, RequestDeps, ToolsDep } from "../deps.ts";
import { pressureNow } from "./pressure.ts";
import { assemble, type Assembled, type AssembledRequest, rewrittenTokens, sentAt } from "./request.ts";
import type { TurnRoom } from "./turn-room.ts";

export interface Preparing extends ClearBefore {
  readonly room: TurnRoom;
}

export type Prepared = Assembled | { readonly kind: "aborted" } | WriteFailure;

/**
 * The next request: the layers take out of the view what pays to go, what the model has to be told is appended, and what
 * the cache will not give is told before it is paid for.
 */
export async function* prepareRequest(
  deps: RequestDeps,
  { room, ...before }: Preparing,
): AsyncGenerator<LoopEvent, Prepared> {
  const { conversation, signal } = before;
  yield* room.asked();
  yield* clearBefore(deps, before);
  if (signal.aborted) return { kind: "aborted" };
  const failure = (await tellNews(deps, conversation)) ?? (await tellPressure(deps, conversation));
  if (failure !== undefined) return failure;
  const assembled = assemble(conversation, { numbers: deps.numbers(), at: deps.now() });
  if (assembled.kind === "request") yield* foresee(deps, { conversation, assembled });
  return assembled;
}

/** A fork is told nothing: what it takes the session would not hear of. */
async function tellNews(deps: ReminderDeps, conversation: Conversation): Promise<WriteFailure | undefined> {
  const { line } = conversation;
  const news = line.editable === undefined ? [] : (deps.news?.() ?? []);
  const drafts = [...news, ...((await deps.reminders?.(conversation)) ?? [])];
  const appended = drafts.length === 0 ? undefined : await line.append(...drafts);
  return appended?.kind === "failed" ? appended : undefined;
}

async function tellPressure(
  deps: NumbersDep & ToolsDep,
  conversation: Conversation,
): Promise<WriteFailure | undefined> {
  const draft = pressureNow(conversation, { numbers: deps.numbers(), tools: deps.tools });
  const appended = draft === undefined ? undefined : await conversation.line.append(draft);
  return appended?.kind === "failed" ? appended : undefined;
}

function* foresee(
  { now }: ClockDep,
  sending: { readonly conversation: Conversation; readonly assembled: AssembledRequest },
): Generator<LoopEvent> {
  const cause = sending.conversation.breaks.foresee(sentAt(now(), sending));
  if (cause !== undefined)
    yield { kind: "cache-break", cause: causeText(cause), tokens: rewrittenTokens(sending.assembled, cause) };
}
