import type { CompactionPhase, LoopEvent } from "palimpsest/internal/schema/event";
import { wordsByPath, wordsByPhase } from "../tui/text/compaction-words.ts";
import type { CommandContext } from "../command.ts";
import { humanCount, humanPercent, oneLine } from "../human.ts";
import { type Circumstances, unaskedHint, withoutStop } from "./failure-words.ts";
import type { OwnPrompt } from "./own-prompt.ts";
import { type Answerer, usdBy } from "./simulated.ts";

type Of<Kind extends LoopEvent["kind"]> = Extract<LoopEvent, { kind: Kind }>;

export interface Telling {
  readonly answerer: Answerer;
  /** How many messages are pinned now. */
  readonly pins: () => number;
  /** Told of when a model is about to be asked with it. */
  readonly ownPrompt: () => Promise<OwnPrompt | undefined>;
}

/**
 * Tells a person on stderr of the compactions that happen in a stream of events; hears every one of them. A summary that
 * is on the way shows at a terminal as a line in place, elsewhere as a line a phase.
 */
export function compactionTeller(
  { err }: Pick<CommandContext, "err">,
  telling: Telling,
): (event: LoopEvent) => Promise<void> {
  const { answerer } = telling;
  let phase: CompactionPhase | undefined;
  let ownPrompt: OwnPrompt | undefined;
  const look = async (): Promise<void> => {
    const isKnown = ownPrompt !== undefined;
    ownPrompt ??= await telling.ownPrompt();
    if (isKnown) return;
    for (const problem of ownPrompt?.problems ?? []) await err.write(`warning: ${oneLine(problem)}\n`);
  };
  return async (event) => {
    if (event.kind === "compaction-progress") {
      if (answerer === "none" && asksModel[event.phase]) return;
      const line = progressText(event);
      if (err.isTerminal) await err.progress(line);
      else if (event.phase !== phase) await err.write(`${wordsByPhase[event.phase]}\n`);
      phase = event.phase;
      return;
    }
    if (phase !== undefined) await err.progress("");
    if (event.kind === "compaction-start") {
      phase = undefined;
      await look();
    }
    const line = lineOf(event, { answerer, circumstances: { pins: telling.pins(), ownPrompt } });
    if (line !== undefined) await err.write(`${line}\n`);
  };
}

interface Line {
  readonly answerer: Answerer;
  readonly circumstances: Circumstances;
}

function lineOf(event: LoopEvent, { answerer, circumstances }: Line): string | undefined {
  if (event.kind === "compaction-start") return startText(event);
  if (event.kind === "compacted") return compactedText(event, answerer);
  return event.kind === "compaction-failed" ? failedText(event, circumstances) : undefined;
}

const asksModel: Readonly<Record<CompactionPhase, boolean>> = {
  hooks: false,
  server: true,
  fork: true,
  stream: true,
  extract: false,
  restore: false,
};

const progressText = ({ phase, chars }: Of<"compaction-progress">): string =>
  `${wordsByPhase[phase]}${chars === 0 ? " …" : `: ${humanCount(chars)} characters`}`;

const startText = ({ cause, tokens, because }: Of<"compaction-start">): string =>
  `compacting (${cause}): ${because === undefined ? `about ${humanCount(tokens)} tokens` : oneLine(because)}`;

function compactedText(
  { cause, path, tokensBefore, tokensAfter, auditScore, costNanos, instead }: Of<"compacted">,
  answerer: Answerer,
): string {
  const facts = [
    `${humanCount(tokensBefore)} → ${humanCount(tokensAfter)} tokens`,
    `${wordsByPath[path]}${instead === undefined ? "" : ` (${withoutStop(oneLine(instead))})`}`,
    `audit ${humanPercent(auditScore)}`,
    ...(costNanos === undefined ? [] : [usdBy(answerer, costNanos)]),
  ];
  return `compacted (${cause}): ${facts.join(", ")}`;
}

function failedText({ reason, message, state }: Of<"compaction-failed">, circumstances: Circumstances): string {
  const degraded = state === "degraded" ? " No model is asked for summaries for the time being." : "";
  return `warning: not compacted (${reason}): ${withoutStop(oneLine(message))}.${degraded} ${unaskedHint(reason, circumstances)}`;
}
