import type { Agent } from "../../agent/open-agent.ts";
import type { Committed, Proposal, Proposed } from "../../loop/compact/proposal.ts";
import type { CompactionPart } from "../../schema/compaction.ts";
import type { LoopEvent } from "../../schema/event.ts";
import type { CommandContext, Outcome } from "../command.ts";
import { exitCode } from "../exit-code.ts";
import { oneLine } from "../human.ts";
import { receiptText } from "../receipt-text.ts";
import { writingFailure } from "../writing-failure.ts";
import { askAnswer } from "./ask.ts";
import { editText } from "./edit-text.ts";
import { compactionTeller } from "./event-lines.ts";
import { hookOrWarning } from "../warning-text.ts";
import { type AskedFor, compactionFailure } from "./failure-words.ts";
import type { OwnPrompt } from "./own-prompt.ts";
import { auditText, previewText, type PreviewLook, summaryText } from "./preview-text.ts";
import { type Answerer, usdBy } from "./simulated.ts";

export interface Compacting {
  readonly context: CommandContext;
  readonly agent: Agent;
  readonly part: CompactionPart;
  readonly instructions: string | undefined;
  /** In place of a model's. */
  readonly summary: string | undefined;
  readonly answerer: Answerer;
  /** That the model is asked with. */
  readonly ownPrompt: OwnPrompt | undefined;
  /** The session is a copy of another tool's transcript, made or gone on with for this. */
  readonly isCopy: boolean;
  /** `ask`: a person looks at it and decides. `look`: nobody is there to decide, and none was taken in advance. */
  readonly decision: "preview" | "look" | "commit" | "ask";
  readonly format: "text" | "json";
  readonly signal: AbortSignal;
}

/** A proposal, perhaps with a summary that the person has written over it. */
interface Considered {
  readonly proposal: Proposal;
  readonly edited?: string;
}

/**
 * Proposes, shows, and commits or cancels:
 *
 *   proposed ──preview, look──▶ cancelled
 *       │ └────commit────────▶ committed
 *       └──ask──▶ y: committed · s: shown whole, asked again · n: cancelled
 *                 e: edited, proposed again with that text, asked again
 */
export async function compacting(input: Compacting): Promise<Outcome> {
  const { decision, part, instructions, summary } = input;
  const given = {
    part,
    ...(instructions === undefined ? {} : { instructions }),
    ...(summary === undefined ? {} : { summary }),
  };
  const proposed = await proposedBy(input, given);
  if (proposed.kind === "failed") return compactionFailure(proposed, circumstances(input));
  const { proposal } = proposed;
  switch (decision) {
    case "commit":
      return committed(input, { proposal });
    case "ask":
      return asked(input, { proposal });
    case "preview":
    case "look":
      return cancelled(input, proposal);
  }
}

type Ask = Parameters<Agent["compaction"]["propose"]>[0];

/** The summary in an ask is a person's, and no prompt has part in it. */
const proposedBy = (input: Compacting, ask: Ask): Promise<Proposed> =>
  told(
    ask.summary === undefined ? input : { ...input, ownPrompt: undefined },
    input.agent.compaction.propose(ask, input.signal),
  );

const circumstances = ({ agent, ownPrompt, part, summary }: Compacting): AskedFor => ({
  pins: pinsOf(agent),
  ownPrompt,
  part,
  writer: summary === undefined ? "model" : "person",
});

const pinsOf = ({ session }: Agent): number => session.fold.projection.pins.size;

/** What it comes to, while a person is told of what happens. */
async function told<Result>(
  { context, agent, answerer, ownPrompt }: Compacting,
  events: AsyncGenerator<LoopEvent, Result>,
): Promise<Result> {
  const tell = compactionTeller(context, {
    answerer,
    pins: () => pinsOf(agent),
    ownPrompt: async () => ownPrompt,
  });
  for (;;) {
    const next = await events.next();
    if (next.done === true) {
      await context.err.progress("");
      return next.value;
    }
    const event = next.value;
    // How it ended is told in more words.
    if (event.kind !== "compacted" && event.kind !== "compaction-failed") await tell(event);
    if (event.kind === "warning") await context.err.write(hookOrWarning(event));
  }
}

const columnsDefault = 80;

interface Shown extends Pick<PreviewLook, "summary"> {
  readonly proposal: Proposal;
}

async function show(input: Compacting, { proposal, summary }: Shown): Promise<void> {
  const { context, agent, answerer, ownPrompt } = input;
  const { style, columns = columnsDefault } = context.out;
  const look = { style, columns, session: agent.session.id, answerer, ownPrompt, summary };
  await context.out.write(previewText(proposal, look));
}

/** Nothing but what the calls cost is booked. */
async function cancelled(input: Compacting, proposal: Proposal): Promise<Outcome> {
  const { agent, context, format, decision, answerer, isCopy } = input;
  await agent.compaction.cancel(proposal);
  if (format === "json") {
    await context.out.json(asJson({ session: agent.session.id, proposal }));
    return exitCode.fine;
  }
  if (decision !== "ask") await show(input, { proposal, summary: "whole" });
  const calls = proposal.preview.money?.callsNanos ?? 0;
  const paid = calls === 0 ? "" : `; ${usdBy(answerer, calls)} was paid for the summary`;
  const copy = isCopy ? ` The copy stays: session ${agent.session.id}.` : "";
  const how = decision === "look" ? " With --yes it is committed at once; at a terminal you are asked." : "";
  await context.err.write(`not committed: the view is as it was${paid}.${copy}${how}\n`);
  return exitCode.fine;
}

async function asked(input: Compacting, first: Considered): Promise<Outcome> {
  const { context, signal } = input;
  let now = first;
  // What was refused is not lost: the next edit goes on from it.
  let written = first.proposal.summary;
  let shown = first.proposal;
  await show(input, { proposal: shown, summary: "beginning" });
  for (;;) {
    const answer = await askAnswer(context, signal);
    if (answer === "commit") return committed(input, now);
    if (answer === "cancel") return cancelled(input, now.proposal);
    if (answer === "stopped") {
      await cancelled(input, now.proposal);
      return exitCode.negative;
    }
    if (answer === "show") {
      await context.out.write(summaryText(shown.summary, context.out));
      continue;
    }
    const edited = await editText(context, written);
    if (edited.kind === "unchanged") {
      await context.err.write(`${edited.message}\n`);
      continue;
    }
    written = edited.text;
    const again = await proposedBy(input, { ...askOf(first.proposal), summary: written });
    if (again.kind === "failed") {
      await context.err.write(`this summary can't be used: ${oneLine(again.message)}\n`);
      continue;
    }
    now = { proposal: first.proposal, edited: written };
    shown = withCallsOf(first.proposal, again.proposal);
    await show(input, { proposal: shown, summary: "beginning" });
  }
}

const askOf = ({ ask: { part, instructions } }: Proposal): Ask => ({
  part,
  ...(instructions === undefined ? {} : { instructions }),
});

/** An edited summary asked no model; what the one under it cost is paid all the same, and has to be saved too. */
function withCallsOf({ calls, preview }: Proposal, edited: Proposal): Proposal {
  const money = edited.preview.money;
  if (money === undefined || preview.money === undefined) return { ...edited, calls };
  const { callsNanos } = preview.money;
  const { roundBeforeNanos, roundAfterNanos, breakEvenRounds } = money;
  const later = callsNanos / (roundBeforeNanos - roundAfterNanos);
  const whole = {
    ...money,
    callsNanos,
    ...(breakEvenRounds === undefined ? {} : { breakEvenRounds: Math.ceil(breakEvenRounds + later) }),
  };
  return { ...edited, calls, preview: { ...edited.preview, money: whole } };
}

async function committed(input: Compacting, { proposal, edited }: Considered): Promise<Outcome> {
  const { agent, context, format, decision } = input;
  const { out } = context;
  const session = agent.session.id;
  const events = agent.compaction.commit(proposal, edited === undefined ? undefined : { summary: edited });
  const done = await told(input, events);
  if (done.kind === "failed") {
    await agent.compaction.cancel(proposal);
    return compactionFailure(done, circumstances(input));
  }
  // Nobody is told of a compaction that a power cut could still take away.
  const ended = await agent.session.endTurn();
  if (ended.kind === "failed") return writingFailure(ended, session);
  if (format === "json") {
    await out.json(asJson({ session, proposal, done }));
    return exitCode.fine;
  }
  const [boundary] = done.entries;
  // Who was asked has seen the rest of it a moment ago.
  if (decision === "ask")
    await out.write(`${receiptText(done.receipt, out.style)}  audit     ${auditText(done.audit)}\n`);
  else await show(input, { proposal: { ...proposal, preview: { ...proposal.preview, ...done } }, summary: "none" });
  await out.write(`compacted: boundary ${boundary ?? ""}\n`);
  if (boundary !== undefined) await out.write(`to go back: palimpsest undo ${session} ${boundary}\n`);
  return exitCode.fine;
}

interface Told {
  readonly session: string;
  readonly proposal: Proposal;
  readonly done?: Extract<Committed, { kind: "committed" }>;
}

function asJson({ session, proposal, done }: Told): object {
  const { path, ask, preview, summary, instead, calls } = proposal;
  const { tokensBefore, tokensAfter, audit, receipt } = done ?? preview;
  return {
    session,
    committed: done !== undefined,
    boundary: done?.entries[0] ?? null,
    path,
    trigger: ask.trigger,
    tokensBefore,
    tokensAfter,
    audit,
    userMessages: preview.userMessages,
    restored: preview.restored,
    pinsWarning: preview.pinsWarning ?? null,
    money: preview.money ?? null,
    calls,
    receipt,
    summary,
    instead: instead ?? null,
  };
}
