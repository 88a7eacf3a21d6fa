import { causeText } from "../../cache/break-detector.ts";
import type { WriteFailure } from "../../ports/blobs.ts";
import type { ClockDep } from "../../ports/clock-dep.ts";
import type { LoopEvent } from "../../schema/loop-event.ts";
import { runLayers, type RunLayersInput } from "./run-layers.ts";
import type { Conversation } from "../conversation.ts";
import type { ResolvedSettingsDep, ReminderDeps, RequestDeps, ToolsDep } from "../deps.ts";
import { nextPressureDraft } from "./pressure.ts";
import {
  assembleRequest,
  type AssembleOutcome,
  type AssembledRequest,
  countRewrittenTokens,
  toSentRequest,
} from "./assemble-request.ts";
import { registerAttachedReads } from "../read-files.ts";
import type { TurnRecovery } from "./turn-recovery.ts";

interface PrepareInput extends RunLayersInput {
  readonly room: TurnRecovery;
  /** `reply`: the model goes on with its own reply, behind which nothing may be said. */
  readonly ending: "user" | "reply";
}

export type PrepareOutcome = AssembleOutcome | { readonly kind: "aborted" } | WriteFailure;

/**
 * Prepares the next request: the layers remove from the view what pays off to remove, reminders for the model are
 * appended, and a predicted cache break is reported before it is paid for.
 */
export async function* prepareRequest(
  deps: RequestDeps,
  { room, ending, ...input }: PrepareInput,
): AsyncGenerator<LoopEvent, PrepareOutcome> {
  const { conversation, signal } = input;
  yield* room.compactIfAsked();
  yield* runLayers(deps, input);
  if (signal.aborted) return { kind: "aborted" };
  const failure =
    ending === "reply"
      ? undefined
      : ((await appendNews(deps, conversation)) ?? (await appendPressure(deps, conversation)));
  if (failure !== undefined) return failure;
  const assembled = assembleRequest(conversation, { settings: deps.settings(), at: deps.now(), ending });
  if (assembled.kind === "request") yield* predictCacheBreak(deps, { conversation, assembled });
  return assembled;
}

/** A fork gets no news: each is returned once, so the session would miss it. */
async function appendNews(deps: ReminderDeps, conversation: Conversation): Promise<WriteFailure | undefined> {
  const { line } = conversation;
  const news = line.editable === undefined ? [] : (deps.news?.() ?? []);
  const drafts = [...news, ...((await deps.reminders?.(conversation)) ?? [])];
  const appended = drafts.length === 0 ? undefined : await line.append(...drafts);
  if (appended?.kind === "failed") return appended;
  registerAttachedReads(conversation.files, { drafts, entries: appended?.entries ?? [] });
  return undefined;
}

async function appendPressure(
  deps: ResolvedSettingsDep & ToolsDep,
  conversation: Conversation,
): Promise<WriteFailure | undefined> {
  const draft = nextPressureDraft(conversation, { settings: deps.settings(), tools: deps.tools });
  const appended = draft === undefined ? undefined : await conversation.line.append(draft);
  return appended?.kind === "failed" ? appended : undefined;
}

function* predictCacheBreak(
  { now }: ClockDep,
  pending: { readonly conversation: Conversation; readonly assembled: AssembledRequest },
): Generator<LoopEvent> {
  const cause = pending.conversation.breaks.foresee(toSentRequest(now(), pending));
  if (cause !== undefined)
    yield { kind: "cache-break", cause: causeText(cause), tokens: countRewrittenTokens(pending.assembled, cause) };
}
