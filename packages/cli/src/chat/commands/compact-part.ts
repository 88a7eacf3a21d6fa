import type { Committed, Proposal, Proposed } from "palimpsest/internal/context/compact/proposal";
import { millis } from "palimpsest/internal/schema/brand";
import type { CompactionPart } from "palimpsest/internal/schema/compaction";
import type { LoopEvent } from "palimpsest/internal/schema/event";
import { consider, type Considered, type ProposalAsk } from "../../compact/considering.ts";
import type { TextEdited } from "../../compact/edit-text.ts";
import { ownPromptOf } from "../../compact/own-prompt.ts";
import { auditText, partText, previewDetails, previewFigures } from "../../compact/preview-text.ts";
import { usdBy } from "../../compact/simulated.ts";
import type { PreviewAsk } from "../../tui/chat-ui.ts";
import { returnedBy } from "../../returned-by.ts";
import type { ChatCommandContext } from "../chat-command.ts";
import { figuresOf } from "../figures.ts";
import { compactHint } from "./compact-hint.ts";
import { chatLines } from "./lines.ts";
import { refuse, tell, unwritten } from "./notices.ts";

export interface CompactWish {
  readonly part: CompactionPart;
  readonly instructions?: string | undefined;
  /** `ask`: the person looks at it first. */
  readonly decision: "ask" | "commit";
}

/** Proposes, shows, and commits or cancels. Raised at any time before the commit, the signal leaves the view as it was. */
export async function compactPart(chat: ChatCommandContext, wish: CompactWish): Promise<void> {
  const { part, instructions, decision } = wish;
  const ask: ProposalAsk = { part, ...(instructions === undefined ? {} : { instructions }) };
  const proposed = await heard(chat, { events: chat.agent.compaction.propose(ask, chat.signal), tells: isAny });
  if (proposed.kind === "failed") return hinted(chat, { proposed, part });
  const { proposal } = proposed;
  const decided: Considered =
    decision === "commit" ? { kind: "commit", proposal } : await consider(proposal, dialogs(chat));
  if (decided.kind !== "commit" || chat.signal.aborted) return cancelled(chat, proposal);
  await committed(chat, decided);
}

async function hinted(chat: ChatCommandContext, failed: Failed): Promise<void> {
  const { context, agent } = chat;
  const { proposed, part } = failed;
  const pins = agent.session.fold.projection.pins.size;
  const hint = compactHint(proposed.reason, { pins, ownPrompt: await ownPromptOf(context), part });
  if (hint !== undefined) tell(chat, hint);
  const paid = "costNanos" in proposed ? (proposed.costNanos ?? 0) : 0;
  if (paid > 0) tell(chat, `${usdBy(chat.answerer, paid)} was paid for a summary that is not used.`);
}

interface Failed {
  readonly proposed: Extract<Proposed | Committed, { kind: "failed" }>;
  readonly part: CompactionPart;
}

/** The person is asked by dialogs. Whatever comes behind the signal counts for nothing. */
function dialogs(chat: ChatCommandContext): Parameters<typeof consider>[1] {
  const { ui, act, agent, signal } = chat;
  return {
    // How an edit fares is told in other words.
    propose: (ask) => heard(chat, { events: agent.compaction.propose(ask, signal), tells: isNoEnd }),
    decide: async (shown) => {
      act({ kind: "preview" });
      // The summary is paid for, whatever becomes of it.
      act({ kind: "figures", figures: figuresOf(agent) });
      if (signal.aborted) return "stopped";
      const title = `Compact ${partText(shown.ask.part)}`;
      const answer = await ui.preview({ title, ...(await factsOf(chat, shown)), text: shown.summary }, signal);
      return signal.aborted ? "stopped" : answer;
    },
    edit: async (text) => textEdited(text, await ui.edit({ title: "The summary", text }, signal)),
    tell: async (message) => {
      if (!signal.aborted) refuse(chat, { message });
    },
  };
}

function textEdited(before: string, after: string | undefined): TextEdited {
  if (after === undefined || after.trimEnd() === before.trimEnd())
    return { kind: "unchanged", message: "The summary is as it was" };
  if (after.trim() === "") return { kind: "unchanged", message: "An empty summary is none" };
  return { kind: "edited", text: after.trimEnd() };
}

async function factsOf(chat: ChatCommandContext, proposal: Proposal): Promise<Pick<PreviewAsk, "facts" | "details">> {
  const { context, ui, answerer } = chat;
  const ownPrompt = await ownPromptOf(context);
  const shown = { details: "counted", listedBy: "see the details" } as const;
  const look = { columns: ui.columns, answerer, ownPrompt, cwd: context.cwd, ...shown };
  const lines = (texts: readonly string[]): readonly string[] =>
    texts.length === 0 ? [] : chatLines(chat).of(texts.join("\n"));
  return { facts: lines(previewFigures(proposal, look)), details: lines(previewDetails(proposal, look)) };
}

async function cancelled(chat: ChatCommandContext, proposal: Proposal): Promise<void> {
  const { act, agent, answerer } = chat;
  const event = await agent.compaction.cancel(proposal);
  act({ kind: "event", event, at: now() });
  const calls = proposal.preview.money?.callsNanos ?? 0;
  if (calls > 0) tell(chat, `${usdBy(answerer, calls)} was paid for the summary.`);
}

async function committed(
  chat: ChatCommandContext,
  { proposal, edited }: Extract<Considered, { kind: "commit" }>,
): Promise<void> {
  const { agent } = chat;
  const events = agent.compaction.commit(proposal, edited === undefined ? undefined : { summary: edited });
  const done = await heard(chat, { events, tells: isAny });
  if (done.kind === "failed") {
    await agent.compaction.cancel(proposal);
    return hinted(chat, { proposed: done, part: proposal.ask.part });
  }
  // Nobody is told of a compaction that a power cut could still take away.
  const ended = await agent.session.endTurn();
  if (ended.kind === "failed") unwritten(chat, ended);
  else tell(chat, `Audit ${auditText(done.audit)}. /undo brings back what was summarised.`);
}

interface Heard<Result> {
  readonly events: AsyncGenerator<LoopEvent, Result>;
  /** Those that the chat is told of. */
  readonly tells: (event: LoopEvent) => boolean;
}

const isAny = (): boolean => true;
const isNoEnd = ({ kind }: LoopEvent): boolean => kind !== "compaction-failed";

const heard = <Result>({ act }: ChatCommandContext, { events, tells }: Heard<Result>): Promise<Result> =>
  returnedBy(events, (event) => {
    if (tells(event)) act({ kind: "event", event, at: now() });
  });

const now = () => millis(Date.now());
