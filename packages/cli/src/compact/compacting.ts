import type { Agent } from "../agent/agent.ts";
import type { Committed, Proposal, Proposed } from "palimpsest/internal/context/compact/proposal";
import type { CompactionPart } from "palimpsest/internal/schema/compaction";
import type { LoopEvent } from "palimpsest/internal/schema/event";
import type { CommandContext, Outcome } from "../command.ts";
import { exitCode } from "../exit-code.ts";
import { receiptText } from "../receipt-text.ts";
import { writingFailure } from "../writing-failure.ts";
import { askAnswer } from "./ask.ts";
import { consider, type Considered, type ProposalAsk } from "./considering.ts";
import { editText } from "./edit-text.ts";
import { compactionTeller } from "./event-lines.ts";
import { hookOrWarning } from "../warning-text.ts";
import { type AskedFor, compactionFailure } from "./failure-words.ts";
import type { OwnPrompt } from "./own-prompt.ts";
import { auditText, previewText, type PreviewLook, wholeText } from "./preview-text.ts";
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
  readonly details: PreviewLook["details"];
  readonly format: "text" | "json";
  readonly signal: AbortSignal;
}

/** A proposal, perhaps with a summary that the person has written over it. */
type ToCommit = Omit<Extract<Considered, { kind: "commit" }>, "kind">;

/**
 * Proposes, shows, and commits or cancels:
 *
 *   proposed ──preview, look──▶ cancelled
 *       │ └────commit────────▶ committed
 *       └──ask──▶ considered ──commit──▶ committed
 *                            └──cancel, stopped──▶ cancelled
 */
export async function compacting(input: Compacting): Promise<Outcome> {
  const { decision, part, instructions, summary } = input;
  const given = {
    part,
    ...(instructions === undefined ? {} : { instructions }),
    ...(summary === undefined ? {} : { summary }),
  };
  const proposed = await proposedBy(input, given);
  if (proposed.kind === "failed") {
    const { costNanos = 0 } = proposed;
    if (costNanos > 0)
      await input.context.err.write(`${usdBy(input.answerer, costNanos)} was paid for a summary that is not used.\n`);
    return compactionFailure(proposed, circumstances(input));
  }
  const { proposal } = proposed;
  switch (decision) {
    case "commit":
      return committed(input, { proposal });
    case "ask":
      return asked(input, proposal);
    case "preview":
    case "look":
      return cancelled(input, proposal);
  }
}

/** The summary in an ask is a person's, and no prompt has part in it. */
const proposedBy = (input: Compacting, ask: ProposalAsk): Promise<Proposed> =>
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

interface Shown extends Pick<PreviewLook, "summary" | "details"> {
  readonly proposal: Proposal;
}

async function show(input: Compacting, { proposal, ...much }: Shown): Promise<void> {
  const { context, agent, answerer, ownPrompt, decision } = input;
  const { style, columns = columnsDefault } = context.out;
  const listedBy = decision === "ask" ? "s lists them" : "--full lists them";
  const look = { style, columns, session: agent.session.id, answerer, ownPrompt, cwd: context.cwd, listedBy, ...much };
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
  if (decision !== "ask") await show(input, { proposal, summary: "whole", details: input.details });
  const calls = proposal.preview.money?.callsNanos ?? 0;
  const paid = calls === 0 ? "" : `; ${usdBy(answerer, calls)} was paid for the summary`;
  const copy = isCopy ? ` The copy stays: session ${agent.session.id}.` : "";
  const how = decision === "look" ? " With --yes it is committed at once; at a terminal you are asked." : "";
  await context.err.write(`not committed: the view is as it was${paid}.${copy}${how}\n`);
  return exitCode.fine;
}

/** What is shown already is not shown again behind an edit that came to nothing. */
async function asked(input: Compacting, first: Proposal): Promise<Outcome> {
  const { context, signal } = input;
  let seen: Proposal | undefined;
  const considered = await consider(first, {
    propose: (ask) => proposedBy(input, ask),
    decide: async (shown) => {
      if (shown !== seen) await show(input, { proposal: shown, summary: "beginning", details: input.details });
      seen = shown;
      for (;;) {
        const answer = await askAnswer(context, signal);
        if (answer !== "show") return answer;
        await context.out.write(
          wholeText(shown, { ...context.out, columns: context.out.columns ?? columnsDefault, cwd: context.cwd }),
        );
      }
    },
    edit: (text) => editText(context, text),
    tell: (message) => context.err.write(`${message}\n`),
  });
  switch (considered.kind) {
    case "commit":
      return committed(input, considered);
    case "cancel":
      return cancelled(input, considered.proposal);
    case "stopped":
      await cancelled(input, considered.proposal);
      return exitCode.negative;
  }
}

async function committed(input: Compacting, { proposal, edited }: ToCommit): Promise<Outcome> {
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
