import type { CommitOutcome, Proposal, ProposeOutcome } from "palimpsest/internal/context/compact/proposal";
import { millis } from "palimpsest/internal/schema/brand";
import type { CompactionRange, CompactionFailure } from "palimpsest/internal/schema/compaction-cause";
import type { LoopEvent } from "palimpsest/internal/schema/loop-event";
import { considerProposal, type ConsiderOutcome, type ProposalRequest } from "../../compact/consider-proposal.ts";
import type { EditTextOutcome } from "../../program/edit-text.ts";
import { readUserPrompt, promptHint, type HintContext } from "../../compact/compaction-failure.ts";
import { auditText, partText, previewDetails, previewFigures } from "../../compact/preview-text.ts";
import { formatCost } from "../../text/format.ts";
import type { PreviewPrompt } from "../../tui/chat-ui.ts";
import {
  drainEvents,
  clearResults,
  tokensChangeText,
  nothingToClear,
  parseClearTarget,
} from "../../compact/clear-results.ts";
import { type ChatCommandContext, type ChatCommand, stay } from "../chat-command.ts";
import { agentFigures } from "../chat-view.ts";
import { chatLines, refuse, tell, tellWriteFailure } from "./chat-lines.ts";

export interface CompactPartOptions {
  readonly part: CompactionRange;
  readonly instructions?: string | undefined;
  /** `ask`: the user reviews it first. */
  readonly decision: "ask" | "commit";
}

/**
 * Proposes, shows, and commits or cancels. If the signal aborts at any time before the commit, the view stays as it
 * was.
 */
export async function compactPart(chat: ChatCommandContext, options: CompactPartOptions): Promise<void> {
  const { part, instructions, decision } = options;
  const request: ProposalRequest = { part, ...(instructions === undefined ? {} : { instructions }) };
  const proposed = await runEvents(chat, {
    events: chat.agent.context.compaction.propose(request, chat.signal),
    isShown: isAny,
  });
  if (proposed.kind === "failed") return tellHint(chat, { proposed, part });
  const { proposal } = proposed;
  const decided: ConsiderOutcome =
    decision === "commit" ? { kind: "commit", proposal } : await considerProposal(proposal, askByDialogs(chat));
  if (decided.kind !== "commit" || chat.signal.aborted) return cancelProposal(chat, proposal);
  await commitProposal(chat, decided);
}

async function tellHint(
  chat: ChatCommandContext,
  failed: {
    readonly proposed: Extract<ProposeOutcome | CommitOutcome, { kind: "failed" }>;
    readonly part: CompactionRange;
  },
): Promise<void> {
  const { context, agent } = chat;
  const { proposed, part } = failed;
  const pins = agent.session.fold.projection.pins.size;
  const hint = compactHint(proposed.reason, { pins, ownPrompt: await readUserPrompt(context), part });
  if (hint !== undefined) tell(chat, hint);
  const paid = "costNanos" in proposed ? (proposed.costNanos ?? 0) : 0;
  if (paid > 0) tell(chat, `${formatCost(chat.answerer, paid)} was paid for a summary that is not used.`);
}

/** Asks the user in dialogs. Answers after the signal has aborted do not count. */
function askByDialogs(chat: ChatCommandContext): Parameters<typeof considerProposal>[1] {
  const { ui, act, agent, signal } = chat;
  return {
    // The outcome of an edit is shown in other words.
    propose: (request) =>
      runEvents(chat, { events: agent.context.compaction.propose(request, signal), isShown: isNotFailure }),
    decide: async (shown) => {
      act({ kind: "preview" });
      // The summary is paid for, whatever happens to it.
      act({ kind: "figures", figures: agentFigures(agent) });
      if (signal.aborted) return "stopped";
      const title = `Compact ${partText(shown.ask.part)}`;
      const answer = await ui.preview({ title, ...(await previewFacts(chat, shown)), text: shown.summary }, signal);
      return signal.aborted ? "stopped" : answer;
    },
    edit: async (text) => compareEdit(text, await ui.edit({ title: "The summary", text }, signal)),
    tell: async (message) => {
      if (!signal.aborted) refuse(chat, { message });
    },
  };
}

function compareEdit(before: string, after: string | undefined): EditTextOutcome {
  if (after === undefined || after.trimEnd() === before.trimEnd())
    return { kind: "unchanged", message: "The summary is as it was" };
  if (after.trim() === "") return { kind: "unchanged", message: "An empty summary is none" };
  return { kind: "edited", text: after.trimEnd() };
}

async function previewFacts(
  chat: ChatCommandContext,
  proposal: Proposal,
): Promise<Pick<PreviewPrompt, "facts" | "details">> {
  const { context, ui, answerer } = chat;
  const ownPrompt = await readUserPrompt(context);
  const shown = { details: "counted", listedBy: "see the details" } as const;
  const look = { columns: ui.columns, answerer, ownPrompt, cwd: context.cwd, ...shown };
  const lines = (texts: readonly string[]): readonly string[] =>
    texts.length === 0 ? [] : chatLines(chat).toLines(texts.join("\n"));
  return { facts: lines(previewFigures(proposal, look)), details: lines(previewDetails(proposal, look)) };
}

async function cancelProposal(chat: ChatCommandContext, proposal: Proposal): Promise<void> {
  const { act, agent, answerer } = chat;
  const event = await agent.context.compaction.cancel(proposal);
  act({ kind: "event", event, at: nowMillis() });
  const calls = proposal.preview.money?.callsNanos ?? 0;
  if (calls > 0) tell(chat, `${formatCost(answerer, calls)} was paid for the summary.`);
}

async function commitProposal(
  chat: ChatCommandContext,
  { proposal, edited }: Extract<ConsiderOutcome, { kind: "commit" }>,
): Promise<void> {
  const { agent } = chat;
  const events = agent.context.compaction.commit(proposal, edited === undefined ? undefined : { summary: edited });
  const committed = await runEvents(chat, { events, isShown: isAny });
  if (committed.kind === "failed") {
    await agent.context.compaction.cancel(proposal);
    return tellHint(chat, { proposed: committed, part: proposal.ask.part });
  }
  // A compaction is reported only once a power cut can no longer undo it.
  const ended = await agent.session.endTurn();
  if (ended.kind === "failed") tellWriteFailure(chat, ended);
  else tell(chat, `Audit ${auditText(committed.audit)}. /undo brings back what was summarised.`);
}

interface EventRun<Result> {
  readonly events: AsyncGenerator<LoopEvent, Result>;
  /** Filters the events that the chat shows. */
  readonly isShown: (event: LoopEvent) => boolean;
}

const isAny = (): boolean => true;
const isNotFailure = ({ kind }: LoopEvent): boolean => kind !== "compaction-failed";

const runEvents = <Result>({ act }: ChatCommandContext, { events, isShown }: EventRun<Result>): Promise<Result> =>
  drainEvents(events, (event) => {
    if (isShown(event)) act({ kind: "event", event, at: nowMillis() });
  });

const nowMillis = () => millis(Date.now());

export interface CompactHintInput extends HintContext {
  readonly part: CompactionRange;
}

/** What a user who asked for it in the chat can do; undefined if there is nothing. */
export function compactHint(
  reason: CompactionFailure,
  { ownPrompt, pins, part }: CompactHintInput,
): string | undefined {
  switch (reason) {
    case "no_summary":
      return ownPrompt === undefined ? "Try again, or choose another model with /model." : promptHint(ownPrompt);
    case "api_error":
    case "timed_out":
    case "breaker_open":
    case "spend_limit":
      return "Try again later, or choose another model with /model.";
    case "prompt_too_long":
      return "/rewind can summarise a part of it.";
    case "still_over":
      return `/context names what is largest${pins === 0 ? "" : "; /pin lets go of what is pinned"}.`;
    case "nothing_to_compact":
      return part.kind === "up_to"
        ? "Nothing that was said stands before that message."
        : "/context shows what fills the window.";
    case "switched_off":
      return "`palimpsest explain` says where the switch was turned off.";
    case "blocked":
      return "A PreCompact hook decides that: /hooks lists them.";
    case "unwritten":
      return "What was written before stays; try again when the cause is gone.";
    case "aborted":
      return undefined;
  }
}

export const compactCommand: ChatCommand = async ({ rest, flags }, chat) => {
  const instructions = rest === "" ? undefined : rest;
  const decision = flags.includes("--yes") ? "commit" : "ask";
  await compactPart(chat, { part: { kind: "all" }, instructions, decision });
  return stay;
};

/** Clears old tool results down to a target. No model is asked. */
export const clearResultsCommand: ChatCommand = async ({ rest }, chat) => {
  const target = parseClearTarget(rest);
  if (target.kind !== "target") {
    refuse(chat, { message: `/clear-results ${target.message}`, hint: "For example /clear-results 20000." });
    return stay;
  }
  const outcome = await clearResults(chat.agent.context, target.tokens);
  if (outcome.kind === "failed") {
    tellWriteFailure(chat, outcome);
    return stay;
  }
  const { cleared, events } = outcome;
  for (const event of events) chat.act({ kind: "event", event, at: millis(Date.now()) });
  if (cleared === undefined) refuse(chat, { message: nothingToClear(target.tokens) });
  else tell(chat, `Context: ${tokensChangeText(cleared)}. /undo brings the results back.`);
  return stay;
};
