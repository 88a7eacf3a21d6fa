import type { Agent } from "../agent/agent.ts";
import type { CommitOutcome, Proposal, ProposeOutcome } from "palimpsest/internal/context/compact/proposal";
import type { CompactionRange } from "palimpsest/internal/schema/compaction-cause";
import type { LoopEvent } from "palimpsest/internal/schema/loop-event";
import type { CommandContext, Outcome } from "../program/command.ts";
import { exitCode } from "../program/failure.ts";
import { receiptText } from "../text/receipt-text.ts";
import { sessionFailure } from "../session/session-failure.ts";
import { askToCommit } from "./ask-to-commit.ts";
import { considerProposal, type ConsiderOutcome, type ProposalRequest } from "./consider-proposal.ts";
import { editText } from "../program/edit-text.ts";
import { compactionReporter } from "./compaction-reporter.ts";
import { warningLine } from "../program/report-problems.ts";
import { type RequestedCompaction, compactionFailure, type UserPrompt } from "./compaction-failure.ts";
import { auditText, previewText, type PreviewLook, wholeText } from "./preview-text.ts";
import { type Answerer, formatCost } from "../text/format.ts";

export interface CompactionRun {
  readonly context: CommandContext;
  readonly agent: Agent;
  readonly part: CompactionRange;
  readonly instructions: string | undefined;
  /** Replaces a model's. */
  readonly summary: string | undefined;
  readonly answerer: Answerer;
  /** The prompt that the model is asked with. */
  readonly ownPrompt: UserPrompt | undefined;
  /** The session is a copy of another tool's transcript, made or reused for this. */
  readonly isCopy: boolean;
  /**
   * `ask`: the user looks at it and decides. `look`: there is no user to decide, and no decision was given in advance.
   */
  readonly decision: "preview" | "look" | "commit" | "ask";
  readonly details: PreviewLook["details"];
  readonly format: "text" | "json";
  readonly signal: AbortSignal;
}

/** A proposal, perhaps with a summary by which the user has replaced its own. */
type ToCommit = Omit<Extract<ConsiderOutcome, { kind: "commit" }>, "kind">;

/**
 * Proposes, shows, and commits or cancels:
 *
 *   proposed ──preview, look──▶ cancelled
 *       │ └────commit────────▶ committed
 *       └──ask──▶ considered ──commit──▶ committed
 *                            └──cancel, stopped──▶ cancelled
 */
export async function runCompaction(input: CompactionRun): Promise<Outcome> {
  const { decision, part, instructions, summary } = input;
  const request = {
    part,
    ...(instructions === undefined ? {} : { instructions }),
    ...(summary === undefined ? {} : { summary }),
  };
  const proposed = await propose(input, request);
  if (proposed.kind === "failed") {
    const { costNanos = 0 } = proposed;
    if (costNanos > 0)
      await input.context.err.write(
        `${formatCost(input.answerer, costNanos)} was paid for a summary that is not used.\n`,
      );
    return compactionFailure(proposed, hintContext(input));
  }
  const { proposal } = proposed;
  switch (decision) {
    case "commit":
      return commitProposal(input, { proposal });
    case "ask":
      return askAndDecide(input, proposal);
    case "preview":
    case "look":
      return cancelProposal(input, proposal);
  }
}

/** A summary in the request is the user's, and involves no prompt. */
const propose = (input: CompactionRun, request: ProposalRequest): Promise<ProposeOutcome> =>
  runWithReport(
    request.summary === undefined ? input : { ...input, ownPrompt: undefined },
    input.agent.context.compaction.propose(request, input.signal),
  );

const hintContext = ({ agent, ownPrompt, part, summary }: CompactionRun): RequestedCompaction => ({
  pins: countPins(agent),
  ownPrompt,
  part,
  writer: summary === undefined ? "model" : "user",
});

const countPins = ({ session }: Agent): number => session.fold.projection.pins.size;

/** The result, with the events reported to the user meanwhile. */
async function runWithReport<Result>(
  { context, agent, answerer, ownPrompt }: CompactionRun,
  events: AsyncGenerator<LoopEvent, Result>,
): Promise<Result> {
  const report = compactionReporter(context, {
    answerer,
    pins: () => countPins(agent),
    ownPrompt: async () => ownPrompt,
  });
  for (;;) {
    const next = await events.next();
    if (next.done === true) {
      await context.err.progress("");
      return next.value;
    }
    const event = next.value;
    // The outcome is reported in more detail.
    if (event.kind !== "compacted" && event.kind !== "compaction-failed") await report(event);
    if (event.kind === "warning") await context.err.write(warningLine(event));
  }
}

const columnsDefault = 80;

interface ShownProposal extends Pick<PreviewLook, "summary" | "details"> {
  readonly proposal: Proposal;
}

async function show(input: CompactionRun, { proposal, ...amount }: ShownProposal): Promise<void> {
  const { context, agent, answerer, ownPrompt, decision } = input;
  const { style, columns = columnsDefault } = context.out;
  const listedBy = decision === "ask" ? "s lists them" : "--full lists them";
  const look = {
    style,
    columns,
    session: agent.session.id,
    answerer,
    ownPrompt,
    cwd: context.cwd,
    listedBy,
    ...amount,
  };
  await context.out.write(previewText(proposal, look));
}

/** Only the cost of the calls is booked. */
async function cancelProposal(input: CompactionRun, proposal: Proposal): Promise<Outcome> {
  const { agent, context, format, decision, answerer, isCopy } = input;
  await agent.context.compaction.cancel(proposal);
  if (format === "json") {
    await context.out.json(asJson({ session: agent.session.id, proposal }));
    return exitCode.fine;
  }
  if (decision !== "ask") await show(input, { proposal, summary: "whole", details: input.details });
  const calls = proposal.preview.money?.callsNanos ?? 0;
  const paid = calls === 0 ? "" : `; ${formatCost(answerer, calls)} was paid for the summary`;
  const copy = isCopy ? ` The copy stays: session ${agent.session.id}.` : "";
  const advice = decision === "look" ? " With --yes it is committed at once; at a terminal you are asked." : "";
  await context.err.write(`not committed: the view is as it was${paid}.${copy}${advice}\n`);
  return exitCode.fine;
}

/** A preview that is on the screen is not shown again after an edit without effect. */
async function askAndDecide(input: CompactionRun, first: Proposal): Promise<Outcome> {
  const { context, signal } = input;
  let lastShown: Proposal | undefined;
  const considered = await considerProposal(first, {
    propose: (request) => propose(input, request),
    decide: async (shown) => {
      if (shown !== lastShown) await show(input, { proposal: shown, summary: "beginning", details: input.details });
      lastShown = shown;
      for (;;) {
        const answer = await askToCommit(context, signal);
        if (answer !== "show") return answer;
        await context.out.write(
          wholeText(shown, { ...context.out, columns: context.out.columns ?? columnsDefault, cwd: context.cwd }),
        );
      }
    },
    edit: (text) => editText(context, text, { fileName: "summary.md", name: "summary" }),
    tell: (message) => context.err.write(`${message}\n`),
  });
  switch (considered.kind) {
    case "commit":
      return commitProposal(input, considered);
    case "cancel":
      return cancelProposal(input, considered.proposal);
    case "stopped":
      await cancelProposal(input, considered.proposal);
      return exitCode.negative;
  }
}

async function commitProposal(input: CompactionRun, { proposal, edited }: ToCommit): Promise<Outcome> {
  const { agent, context, format, decision } = input;
  const { out } = context;
  const session = agent.session.id;
  const events = agent.context.compaction.commit(proposal, edited === undefined ? undefined : { summary: edited });
  const done = await runWithReport(input, events);
  if (done.kind === "failed") {
    await agent.context.compaction.cancel(proposal);
    return compactionFailure(done, hintContext(input));
  }
  // A compaction is reported only once a power cut can no longer undo it.
  const ended = await agent.session.endTurn();
  if (ended.kind === "failed") return sessionFailure(ended, session);
  if (format === "json") {
    await out.json(asJson({ session, proposal, done }));
    return exitCode.fine;
  }
  const [boundary] = done.entries;
  // A user who was asked has seen the rest a moment ago.
  if (decision === "ask")
    await out.write(`${receiptText(done.receipt, out.style)}  audit     ${auditText(done.audit)}\n`);
  else
    await show(input, {
      proposal: { ...proposal, preview: { ...proposal.preview, ...done } },
      summary: "none",
      details: input.details,
    });
  await out.write(`compacted: boundary ${boundary ?? ""}\n`);
  if (boundary !== undefined) await out.write(`to go back: palimpsest undo ${session} ${boundary}\n`);
  return exitCode.fine;
}

function asJson({
  session,
  proposal,
  done,
}: {
  readonly session: string;
  readonly proposal: Proposal;
  readonly done?: Extract<CommitOutcome, { kind: "committed" }>;
}): object {
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
