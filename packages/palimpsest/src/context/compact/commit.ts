import { waitingTokensMax } from "../../layers/4-compact/budgets.ts";
import { registerRestored } from "../../layers/4-compact/run-restore.ts";
import { ratesOf } from "../../cache/rates.ts";
import type { HookMoment } from "../../ports/hooks.ts";
import type { EntryId } from "../../schema/brand.ts";
import type { JsonObject } from "../../schema/json.ts";
import { plural } from "../../schema/plural.ts";
import type { LoopEvent } from "../../schema/event.ts";
import type { Conversation } from "../conversation.ts";
import type { CompactionDeps } from "../deps.ts";
import { contextDraft } from "../reminders.ts";
import { appendBoundaryAt } from "../../session/boundary.ts";
import type { Edited, Moved } from "../../session/session.ts";
import { sessionTitle, titleDraft } from "../../session/session-title.ts";
import { type BoundaryDraft, draftBoundary, groundOf, unusedText } from "./boundary-draft.ts";
import { brokenOff } from "./broken-off.ts";
import { type ClosingEvent, closingEvent } from "./closing-event.ts";
import type { Compacting } from "./compacting.ts";
import { factsAtHand } from "./facts-at-hand.ts";
import { countSummary } from "./failures.ts";
import { commitTriesMax } from "./limits.ts";
import { given } from "./made.ts";
import { changeOf, whyNotSmaller } from "./preview.ts";
import { type CompactionProblem, type Committed, ownTextOf, type Proposal } from "./proposal.ts";
import { scopeOf } from "./scope.ts";
import { bookCalls, callsCost } from "./spent.ts";

export interface Committing {
  readonly conversation: Conversation;
  readonly compacting: Compacting;
  readonly proposal: Proposal;
  /** A person's version of the summary. */
  readonly edited?: { readonly summary: string } | undefined;
}

/**
 * Writes a proposal's boundary: what was said since it was made stays behind it, once and in order, and the working state
 * is that of now. Then whatever referred to the old context begins anew, for this conversation alone.
 */
export async function* commitCompaction(deps: CompactionDeps, input: Committing): AsyncGenerator<LoopEvent, Committed> {
  const { conversation, compacting, proposal } = input;
  const { session } = compacting;
  const { trigger } = proposal.ask;
  const installed = await install(deps, input).catch(brokenOff);
  if (installed.kind === "failed") {
    // How an automatic one ends is told by whoever proposed it too.
    if (trigger === "manual") yield closingEvent(deps, { ...installed, compacting, trigger });
    return installed;
  }
  const { draft, entries, receipt } = installed;
  registerRestored(conversation.files, {
    restoration: draft.restoration,
    entries: entries.slice(2),
    isKept: draft.isKept,
  });
  conversation.breaks.expect("compaction");
  // It would stand for what is covered now.
  await compacting.preparation?.cancel();
  await countSummary(session, proposal);
  const { ask, path, calls, instead } = proposal;
  const { tokensBefore, tokensAfter, audit } = draft;
  if (draft.pinsWarning !== undefined) yield { kind: "warning", code: "pins", message: draft.pinsWarning };
  const cut = cutRequest(draft);
  if (cut !== undefined) yield { kind: "warning", code: "request-cut", message: cut };
  if (instead !== undefined && calls.length > 0)
    yield { kind: "warning", code: "summary-unused", message: `${unusedText(instead, calls.length)}.` };
  if (compacting.facts.unreadable > 0) yield unreadableWarning(compacting.facts.unreadable);
  yield {
    kind: "compacted",
    trigger: ask.trigger,
    cause: ask.cause,
    path: input.edited === undefined ? path : "given",
    ...(ask.made === undefined ? {} : { made: ask.made }),
    tokensBefore,
    tokensAfter,
    auditScore: audit.score,
    entries,
    price: receipt.price,
    ...(conversation.known === undefined ? {} : { costNanos: callsCost(conversation, calls) }),
    ...(instead === undefined ? {} : { instead: instead.message }),
  };
  yield* told(deps, {
    conversation,
    compacting,
    draft,
    proposal,
    boundary: entries[0],
    receipt: totalsOf(receipt, draft),
  });
  return { kind: "committed", entries, receipt, audit, tokensBefore, tokensAfter };
}

const unreadableWarning = (messages: number): LoopEvent => ({
  kind: "warning",
  code: "unreadable",
  message: `The log no longer holds ${messages} ${plural(messages, "message")} of the session: no ledger can quote them.`,
});

type FailedCommit = Extract<Committed, { kind: "failed" }>;

interface Installed extends Pick<Extract<Committed, { kind: "committed" }>, "entries" | "receipt"> {
  readonly kind: "installed";
  readonly draft: BoundaryDraft;
}

/** What is said while it is drafted belongs behind the boundary: then it is drafted again, with that in it. */
async function install(deps: CompactionDeps, input: Committing): Promise<Installed | FailedCommit> {
  for (let tries = 0; tries < commitTriesMax; tries += 1) {
    const drafted = await redrafted(deps, input);
    if (drafted.kind === "failed") return drafted;
    const written = await write(deps, { ...input, ...drafted });
    if (written.kind === "failed") return failed("unwritten", written.message);
    if (written.kind === "edited") {
      const { entries, receipt } = written;
      return { kind: "installed", draft: drafted.draft, entries, receipt };
    }
  }
  return failed("unwritten", `The conversation went on each time it was to be compacted, ${commitTriesMax} times.`);
}

/** In tokens of uncached input; 0 where the model has no known price. */
function paidInTokens(conversation: Conversation, calls: Proposal["calls"]): number {
  const price = conversation.known?.prices.input ?? 0;
  return price === 0 ? 0 : Math.round(callsCost(conversation, calls) / (price * 1000));
}

/** One line for a person whose newest message is too long to stay as it is. */
function cutRequest({ ledger, openRequest }: BoundaryDraft): string | undefined {
  const shown = ledger.messages.find(({ entry }) => entry === openRequest)?.shown;
  if (openRequest === undefined || shown === undefined || shown === "verbatim") return undefined;
  return `The message that waits for its answer is too long to stay whole: the model sees its beginning and its end, and gets the rest by the id ${openRequest}.`;
}

interface Writing extends Committing, Omit<Drafted, "kind"> {}

function write(
  deps: CompactionDeps,
  { conversation, compacting, draft, leaf, facts, proposal }: Writing,
): Promise<Edited | Moved> {
  const { removesTokens, behindTokens } = changeOf(draft);
  const isCold = conversation.cache?.prefixes.isCold(deps.now()) === true;
  return appendBoundaryAt(deps, compacting.session, {
    ...draft.input,
    ...(facts === "memory" ? { facts: undefined } : {}),
    leaf,
    rates: ratesOf(conversation.known, conversation.cache?.lifetime ?? conversation.lifetimes.rolling),
    planned: {
      removesTokens,
      behindTokens: isCold ? 0 : behindTokens,
      cache: isCold ? "cold" : "warm",
      paidCost: paidInTokens(conversation, proposal.calls),
    },
  });
}

interface Drafted {
  readonly kind: "draft";
  readonly draft: BoundaryDraft;
  /** Where the path ended when it was decided what stays. */
  readonly leaf: EntryId | null;
  /** Only what the log says may be passed on. */
  readonly facts: "log" | "memory";
}

async function redrafted(deps: CompactionDeps, input: Committing): Promise<Drafted | FailedCommit> {
  const { conversation, compacting, proposal, edited } = input;
  const { ask } = proposal;
  const { leaf } = compacting.session;
  const numbers = deps.numbers();
  const scoped = scopeOf(compacting.session.fold, {
    part: ask.part,
    waitingTokensMax: waitingTokensMax(numbers.thresholds),
    count: compacting.session.count,
    until: proposal.leaf,
    coversUntil: proposal.coversUntil,
  });
  if (scoped.kind !== "scope")
    return failed("nothing_to_compact", "The conversation is another now: what was to be summarised is gone from it.");
  const known = await factsAtHand(compacting, ask);
  if (known.kind === "failed") return failed(known.reason, known.message);
  const { facts } = known;
  const ground = groundOf({ conversation, compacting, numbers, ask, scope: scoped.scope, facts });
  const made = edited === undefined ? undefined : given(ground, { summary: edited.summary, own: ownTextOf(proposal) });
  if (made?.kind === "failed") return failed(made.reason, made.message);
  const { tookMillis, calls, instead, unseenRounds } = proposal;
  const draft = await draftBoundary(deps, ground, {
    summary: made?.summary ?? proposal.summary,
    path: made?.path ?? proposal.path,
    calls,
    changes: made?.changes ?? proposal.changes,
    instead,
    ...(made === undefined ? { unseenRounds } : {}),
    server: made === undefined ? proposal.server : undefined,
    durationMillis: tookMillis,
  });
  const refusal = whyNotSmaller(ground, draft);
  if (refusal !== undefined) return failed("still_over", refusal);
  return { kind: "draft", draft, leaf, facts: known.from };
}

interface Told extends Omit<Committing, "edited"> {
  readonly draft: BoundaryDraft;
  readonly boundary: EntryId | undefined;
  readonly receipt: JsonObject;
}

/** The session begins anew for hooks and instructions; what they add is said to the model behind everything else. */
async function* told(
  deps: CompactionDeps,
  { compacting, conversation, draft, proposal, boundary, receipt }: Told,
): AsyncGenerator<LoopEvent> {
  const { trigger } = proposal.ask;
  const moments: readonly HookMoment[] = [
    { name: "SessionStart", source: "compact", model: conversation.baseline.model },
    { name: "PostCompact", trigger, summary: draft.input.summary, receipt },
  ];
  for (const moment of moments) {
    const outcome = await deps.hooks.fire({ ...deps.place(), ...moment }, new AbortController().signal);
    for (const message of [...outcome.messages, ...outcome.warnings]) yield { kind: "warning", code: "hook", message };
    if (outcome.context.length > 0)
      await compacting.session.append(...outcome.context.map((text) => contextDraft(text, boundary)));
  }
  // Lists of sessions read both ends of a log: behind a boundary the title is near its end again.
  const title = sessionTitle(compacting.session);
  if (title !== undefined) await compacting.session.append(titleDraft(title));
  await compacting.onCompacted();
}

/**
 * Without its lines: those can be had again, and a hook's input has a limit. The sizes are those of the whole context, as
 * the event and the meter have them; a receipt's own are sums of what the view shows.
 */
function totalsOf(
  { cause, price }: BoundaryDraft["receipt"],
  { tokensBefore, tokensAfter }: Pick<BoundaryDraft, "tokensBefore" | "tokensAfter">,
): JsonObject {
  return { cause, tokensBefore, tokensAfter, price: { ...price } };
}

/** The summary is not wanted; what it cost is written down. */
export async function cancelCompaction(
  deps: CompactionDeps,
  { compacting, proposal }: Pick<Committing, "compacting" | "proposal">,
): Promise<ClosingEvent> {
  const { ask, calls } = proposal;
  const { trigger } = ask;
  await bookCalls(compacting.session, { calls, trigger });
  return closingEvent(deps, { compacting, trigger, reason: "aborted", message: "The compaction was cancelled." });
}

const failed = (reason: CompactionProblem["reason"], message: string): FailedCommit => ({
  kind: "failed",
  reason,
  message,
});
