import type { CompactionCause } from "palimpsest/internal/schema/compaction-cause";
import type { CompactionPhase, LoopEvent } from "palimpsest/internal/schema/loop-event";
import { labelByCompactionPath, labelByCompactionPhase } from "../tui/text/event-lines.ts";
import type { CommandContext } from "../program/command.ts";
import { formatNumber, formatPercent, joinLines, type Answerer, formatCost } from "../text/format.ts";
import { type HintContext, hintForAutomatic, withoutStop, type UserPrompt } from "./compaction-failure.ts";

type EventOf<Kind extends LoopEvent["kind"]> = Extract<LoopEvent, { kind: Kind }>;

export interface CompactionReporterInput {
  readonly answerer: Answerer;
  /** How many messages are pinned now. */
  readonly pins: () => number;
  /** Mentioned when a model is about to be asked with it. */
  readonly ownPrompt: () => Promise<UserPrompt | undefined>;
}

/**
 * Reports on stderr the compactions in a stream of events; it must be given every event. A summary in progress shows as
 * an updating line at a terminal, elsewhere as a line per phase.
 */
export function compactionReporter(
  { err }: Pick<CommandContext, "err">,
  input: CompactionReporterInput,
): (event: LoopEvent) => Promise<void> {
  const { answerer } = input;
  let phase: CompactionPhase | undefined;
  let ownPrompt: UserPrompt | undefined;
  const loadOwnPrompt = async (): Promise<void> => {
    const isKnown = ownPrompt !== undefined;
    ownPrompt ??= await input.ownPrompt();
    if (isKnown) return;
    for (const problem of ownPrompt?.problems ?? []) await err.write(`warning: ${joinLines(problem)}\n`);
  };
  return async (event) => {
    if (event.kind === "compaction-progress") {
      if (answerer === "none" && asksModel[event.phase]) return;
      const line = progressText(event);
      if (err.isTerminal) await err.progress(line);
      else if (event.phase !== phase) await err.write(`${labelByCompactionPhase[event.phase]}\n`);
      phase = event.phase;
      return;
    }
    if (phase !== undefined) await err.progress("");
    if (event.kind === "compaction-start") {
      phase = undefined;
      await loadOwnPrompt();
    }
    const line = eventLine(event, { answerer, hintContext: { pins: input.pins(), ownPrompt } });
    if (line !== undefined) await err.write(`${line}\n`);
  };
}

function eventLine(
  event: LoopEvent,
  { answerer, hintContext }: { readonly answerer: Answerer; readonly hintContext: HintContext },
): string | undefined {
  if (event.kind === "compaction-start") return startText(event);
  if (event.kind === "compacted") return compactionDoneText(event, answerer);
  return event.kind === "compaction-failed" ? compactionFailedText(event, hintContext) : undefined;
}

const asksModel: Readonly<Record<CompactionPhase, boolean>> = {
  hooks: false,
  server: true,
  fork: true,
  stream: true,
  extract: false,
  restore: false,
};

const progressText = ({ phase, chars }: EventOf<"compaction-progress">): string =>
  `${labelByCompactionPhase[phase]}${chars === 0 ? " …" : `: ${formatNumber(chars)} characters`}`;

const labelByCause: Readonly<Record<CompactionCause, string>> = {
  threshold: "threshold",
  price: "price",
  limit: "limit",
  overflow: "overflow",
  refused: "refused",
  person: "requested by you",
  agent: "requested by the agent",
};

const startText = ({ cause, tokens, because }: EventOf<"compaction-start">): string =>
  `compacting (${labelByCause[cause]}): ${because === undefined ? `about ${formatNumber(tokens)} tokens` : joinLines(because)}`;

function compactionDoneText(
  { cause, path, tokensBefore, tokensAfter, auditScore, costNanos, instead }: EventOf<"compacted">,
  answerer: Answerer,
): string {
  const facts = [
    `${formatNumber(tokensBefore)} → ${formatNumber(tokensAfter)} tokens`,
    `${labelByCompactionPath[path]}${instead === undefined ? "" : ` (${withoutStop(joinLines(instead))})`}`,
    `audit ${formatPercent(auditScore)}`,
    ...(costNanos === undefined ? [] : [formatCost(answerer, costNanos)]),
  ];
  return `compacted (${labelByCause[cause]}): ${facts.join(", ")}`;
}

function compactionFailedText(
  { reason, message, state }: EventOf<"compaction-failed">,
  hintContext: HintContext,
): string {
  const degraded = state === "degraded" ? " No model is asked for summaries for the time being." : "";
  return `warning: not compacted (${reason}): ${withoutStop(joinLines(message))}.${degraded} ${hintForAutomatic(reason, hintContext)}`;
}
