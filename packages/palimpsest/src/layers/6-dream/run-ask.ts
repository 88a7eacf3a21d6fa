import { z } from "zod";
import type { RemovalReason } from "../../memory/audit/removal-reasons.ts";
import { applyWrites, type RefusedWrite } from "../../memory/directory/apply-writes.ts";
import type { DraftDirectory } from "../../memory/directory/draft-directory.ts";
import { cutIndex } from "../../memory/directory/memory-index.ts";
import { indexBytesMax, indexLinesMax } from "../../memory/directory/limits.ts";
import { indexPath } from "../../memory/directory/memory-path.ts";
import {
  type DriftFinding,
  formatAge,
  formatDrift,
  memoryTime,
  showMemory,
} from "../../memory/directory/show-memory.ts";
import { forkPermission } from "../../memory/fork-permission.ts";
import type { ForkRecall } from "../../memory/fork-recall.ts";
import { memoryForkTool } from "../../memory/directory/memory-fork-tool.ts";
import type { Fork, ForkOutcome, ForkTask } from "../../ports/fork.ts";
import type { MemoryText } from "../../ports/memories.ts";
import { millis, type Millis } from "../../schema/brand.ts";
import { findJson } from "../../schema/find-json.ts";
import type { Json, JsonObject } from "../../schema/json.ts";
import { listField } from "../../schema/json.ts";
import type { LoopEvent } from "../../schema/loop-event.ts";
import {
  dreamMillisMax,
  dreamQueriesMax,
  dreamRoundsMax,
  dreamTextRoundsMax,
  dreamTriesMax,
  logLinesMax,
  shownHitsCharsMax,
  shownMemoriesBytesMax,
} from "./limits.ts";
import { dreamPrompt, type DreamPromptStep } from "./prompt.ts";

/** Tools in the parent's list that a dream may use, by name. */
export interface DreamToolNames {
  /** The engine's own memory tool. Undefined: the dream is asked for text. */
  readonly memory: string | undefined;
  /** The engine's own recall tool. */
  readonly recall: string | undefined;
  /** Tools of the host for reading. */
  readonly read: readonly string[];
  readonly sandbox: "held" | "unheld";
}

export interface AskDreamInput {
  readonly fork: Fork;
  readonly base: readonly MemoryText[];
  readonly driftByPath: ReadonlyMap<string, readonly DriftFinding[]>;
  readonly draft: DraftDirectory;
  readonly transcripts: ForkRecall;
  readonly canSearch: boolean;
  readonly tools: DreamToolNames;
  readonly now: Millis;
  readonly template: string | undefined;
  readonly onEvent: (event: LoopEvent) => void;
  readonly onWrite: () => void;
  readonly signal: AbortSignal;
}

export type AskDreamOutcome =
  | {
      readonly kind: "asked";
      readonly reasons: readonly RemovalReason[];
      readonly refused: readonly RefusedWrite[];
      readonly usage: readonly JsonObject[];
    }
  | { readonly kind: "failed"; readonly message: string; readonly usage: readonly JsonObject[] }
  | { readonly kind: "killed"; readonly usage: readonly JsonObject[] };

/** Asks a fork to tidy up. What it wants to change is in the draft afterwards. Must not reject. */
export const askDream = (input: AskDreamInput): Promise<AskDreamOutcome> =>
  input.tools.memory === undefined ? askForText(input) : askWithTools(input, input.tools.memory);

async function askWithTools(input: AskDreamInput, memory: string): Promise<AskDreamOutcome> {
  const { draft, transcripts, onWrite, tools, now } = input;
  const recall = input.canSearch ? tools.recall : undefined;
  const provenance = () => ({ at: now, trust: "trusted" }) as const;
  const refused: RefusedWrite[] = [];
  const ownTools = [
    memoryForkTool(
      { memories: draft, author: "dream", provenance },
      { name: memory, onWrite, onRefused: (refusal) => refused.push(refusal) },
    ),
    ...(recall === undefined ? [] : [transcripts.tool(recall)]),
  ];
  const outcome = await runFork(input, {
    step: { kind: "tools", memory, recall, read: tools.read },
    // Later rounds read what earlier ones wrote.
    cacheWrite: "write",
    roundsMax: dreamRoundsMax,
    timeMillisMax: dreamMillisMax,
    ownTools,
    permit: forkPermission({
      ownTools: ownTools.map(({ name }) => name),
      readTools: tools.read,
      sandbox: tools.sandbox,
    }),
  });
  if (outcome.kind !== "answered") return toFailure(outcome, input);
  const { text, usage } = outcome;
  const answer = findJson(text);
  // Changes without reasons are for the audit; who neither wrote nor answered has not looked at the memories.
  if (answer === undefined && draft.changes.length === 0)
    return { kind: "failed", message: "The answer has no JSON object with what was removed.", usage };
  return { kind: "asked", reasons: readReasons(answer), refused, usage };
}

/** Without our tools: first the questions, if there is something to ask, then all changes in one answer. */
async function askForText(input: AskDreamInput): Promise<AskDreamOutcome> {
  const { draft, onWrite, now } = input;
  const memories = renderMemories(input);
  const asked = input.canSearch ? await runFork(input, textTask({ kind: "queries", memories })) : undefined;
  if (asked !== undefined && asked.kind !== "answered") return toFailure(asked, input);
  const hits = asked === undefined ? "" : await answerQueries(asked.text, input);
  const written = await runFork(input, textTask({ kind: "writes", memories, hits }));
  const usage = [...(asked?.usage ?? []), ...written.usage];
  if (written.kind !== "answered") return toFailure({ ...written, usage }, input);
  const provenance = () => ({ at: now, trust: "trusted" }) as const;
  const applied = await applyWrites({ memories: draft, author: "dream", provenance }, written.text);
  if (applied.kind === "unreadable") return { kind: "failed", message: applied.message, usage };
  if (applied.applied.length > 0) onWrite();
  return { kind: "asked", reasons: readReasons(applied.answer), refused: applied.refused, usage };
}

/** The two requests together have the time of one dream. */
const textTask = (step: DreamPromptStep): AskedStep => ({
  step,
  timeMillisMax: millis(dreamMillisMax / 2),
  cacheWrite: "skip",
  roundsMax: dreamTextRoundsMax,
  ownTools: undefined,
  permit: () => Promise.resolve({ kind: "denied", reason: "Answer with the JSON that was asked for, without a call." }),
});

async function answerQueries(answer: string, { transcripts }: AskDreamInput): Promise<string> {
  const queries = listField(findJson(answer), "queries").filter((query) => typeof query === "string");
  const parts: string[] = [];
  for (const query of queries.slice(0, dreamQueriesMax))
    parts.push(`Asked: ${JSON.stringify(query)}\n${await transcripts.ask(query)}`);
  return parts.join("\n\n").slice(0, shownHitsCharsMax);
}

interface AskedStep extends Pick<ForkTask, "cacheWrite" | "roundsMax" | "timeMillisMax" | "ownTools" | "permit"> {
  readonly step: DreamPromptStep;
}

/** The fork shares the parent's tools and system prompt and sees nothing of its conversation. */
function runFork(input: AskDreamInput, { step, ...task }: AskedStep): Promise<ForkOutcome> {
  const { fork, template, onEvent, signal } = input;
  const directive = dreamPrompt({ ...describeDirectory(input), step, template });
  const limits = { triesMax: dreamTriesMax, messagesMax: 0 };
  return fork.run({ ...task, ...limits, directive, source: "dream", onEvent }, signal);
}

function describeDirectory({ base, driftByPath, now }: AskDreamInput) {
  const memories = base.filter(({ role }) => role === "memory");
  const manifest = memories.map((memory) => ({
    path: memory.path,
    name: memory.name,
    type: memory.type,
    age: formatAge(memoryTime(memory), now),
    description: memory.description,
    trust: memory.trust,
    drift: formatDrift(driftByPath.get(memory.path) ?? []),
  }));
  const logs = base
    .filter(({ role, trust }) => role === "log" && trust === "trusted")
    .toSorted((one, other) => (one.path < other.path ? -1 : 1))
    .flatMap(({ text }) => text.split("\n").filter((line) => line.trim() !== ""));
  const { lines } = cutIndex(base.find(({ path }) => path === indexPath)?.text ?? "");
  return {
    today: new Date(now).toISOString().slice(0, 10),
    manifest,
    logs: logs.slice(-logLinesMax),
    index: { lines: lines.length, linesMax: indexLinesMax, bytesMax: indexBytesMax },
  };
}

/** The oldest first, as many as fit. */
function renderMemories({ base, driftByPath, now }: AskDreamInput): string {
  const memories = base
    .filter(({ role }) => role === "memory")
    .toSorted((one, other) => memoryTime(one) - memoryTime(other));
  const shown: string[] = [];
  let used = 0;
  for (const memory of memories) {
    const text = showMemory(memory, { now, driftByPath });
    used += Buffer.byteLength(text);
    if (used > shownMemoriesBytesMax) break;
    shown.push(text);
  }
  const missing = memories.length - shown.length;
  return [...shown, ...(missing > 0 ? [`(${missing} newer ones are not shown: leave them as they are)`] : [])].join(
    "\n\n",
  );
}

const reasonShape = z.object({
  path: z.string().transform((path) => path.replace(/^\/memories\//, "")),
  text: z.string(),
  why: z.string(),
  evidence: z.string().default(""),
});

const readReasons = (answer: Json | undefined): readonly RemovalReason[] =>
  listField(answer, "removed").flatMap((reason) => reasonShape.safeParse(reason).data ?? []);

function toFailure(
  outcome: Exclude<ForkOutcome, { kind: "answered" }>,
  { signal }: AskDreamInput,
): Extract<AskDreamOutcome, { kind: "failed" | "killed" }> {
  const { usage } = outcome;
  if (signal.aborted) return { kind: "killed", usage };
  if (outcome.kind === "failed") return { kind: "failed", message: outcome.message, usage };
  return { kind: "failed", message: overMessages[outcome.why], usage };
}

const overMessages: Readonly<Record<Extract<ForkOutcome, { kind: "over" }>["why"], string>> = {
  rounds: `It did not come to an end within ${dreamRoundsMax} replies.`,
  "over-limit": "The context leaves no room for a dream.",
  aborted: "It was stopped.",
};
