import { applyWrites, type RefusedWrite } from "../../memory/directory/apply-writes.ts";
import { checkedMemories, type WriteSources } from "../../memory/directory/checked-memories.ts";
import { DraftDirectory } from "../../memory/directory/draft-directory.ts";
import { describeForModel } from "../../memory/directory/memory-manifest.ts";
import { memoryToolDefinition } from "../../memory/directory/memory-tool.ts";
import { resultTexts } from "../../memory/trust-sources.ts";
import { memoryForkTool } from "../../memory/directory/memory-fork-tool.ts";
import { readMemories } from "../../memory/directory/read-memories.ts";
import type { RankMemories } from "../../memory/directory/relevant-memories.ts";
import { showMemory } from "../../memory/directory/show-memory.ts";
import { forkPermission } from "../../memory/fork-permission.ts";
import { judgeChanges } from "../../memory/judge-changes.ts";
import type { TrustSources } from "../../memory/judge-trust.ts";
import { ruleScanner } from "../../memory/redact-secrets.ts";
import type { ClockDep } from "../../ports/clock-dep.ts";
import type { Fork, ForkOutcome, ForkTask, ForkTool } from "../../ports/fork.ts";
import type {
  MemoriesDep,
  MemoryChange,
  MemoryCommitOutcome,
  MemoryProvenance,
  MemoryRevision,
  MemoryText,
} from "../../ports/memories.ts";
import type { SecretScanner } from "../../ports/secret-scanner.ts";
import type { Message } from "../../schema/block.ts";
import type { MemoriesSavedEvent } from "../../schema/loop-event.ts";
import type { JsonObject } from "../../schema/json.ts";
import { raceAbort } from "../../schema/race-abort.ts";
import type { MessagesReach } from "../../transcript/first-messages.ts";
import { appendDayLog, dayLogPath } from "../../memory/directory/day-log.ts";
import {
  extractCommitTriesMax,
  extractedMemoriesMax,
  extractMillisMax,
  extractRankMillisMax,
  extractTextRoundsMax,
  extractTriesMax,
  manifestMemoriesMax,
  shownMemoriesMax,
} from "./limits.ts";
import { extractionPrompt } from "./prompt.ts";

export interface ExtractDeps extends MemoriesDep, ClockDep {
  readonly fork: Fork;
  readonly rank: RankMemories;
  /** What refuses texts with secrets; by default the engine's own rules. */
  readonly secrets?: SecretScanner | undefined;
  readonly writing: MemoryWriteMode;
}

/** How a background fork writes memories. */
export type MemoryWriteMode =
  /** The parent's tool list has the memory tool. `own`: what else the engine answers itself, such as `recall`. */
  | {
      readonly kind: "tool";
      readonly own: readonly ForkTool[];
      /** Tools of the host for reading. */
      readonly readTools: readonly string[];
      readonly sandbox: "held" | "unheld";
    }
  /** The parent has no such tool: the fork answers with one list. */
  | { readonly kind: "text" };

export interface ExtractInput {
  readonly sources: WriteSources;
  /** Who said what in the whole session, for whose words a memory holds. */
  readonly trust: TrustSources;
  readonly provenance: Pick<MemoryProvenance, "session" | "messages">;
  readonly turnsMax: number;
  readonly reach: MessagesReach;
  /** The user's own prompt. */
  readonly prompt?: string | undefined;
}

export type ExtractOutcome =
  | {
      readonly kind: "saved";
      readonly saved: MemoriesSavedEvent;
      readonly refused: readonly RefusedWrite[];
      /** Files that somebody else changed at the same time: theirs stay. */
      readonly conflicts: readonly string[];
      readonly usage: readonly JsonObject[];
    }
  | {
      readonly kind: "nothing";
      readonly refused: readonly RefusedWrite[];
      readonly conflicts: readonly string[];
      readonly usage: readonly JsonObject[];
    }
  | {
      readonly kind: "failed";
      readonly why: "model" | "answer" | "unwritten" | "aborted";
      /** One line for a log; it is not shown to the user. */
      readonly message: string;
      readonly usage: readonly JsonObject[];
    };

/**
 * Runs one extraction: a fork of the conversation writes memories into a draft of the directory, and what stands in it at
 * the end is committed as one revision. Must not reject unless its ports do.
 */
export async function extractMemories(
  deps: ExtractDeps,
  input: ExtractInput,
  signal: AbortSignal,
): Promise<ExtractOutcome> {
  const { memories, now, secrets: scanner = ruleScanner } = deps;
  const base = await readMemories(memories);
  const draft = new DraftDirectory({ base, scanner, now });
  const checked = checkedMemories({ memories: draft, sources: input.sources, filesMax: extractedMemoriesMax, now });
  const refused: RefusedWrite[] = [];
  const provenance = { ...input.provenance, at: now(), trust: "trusted" } as const;
  const writer = { memories: checked, author: "extraction", provenance: () => provenance } as const;
  const tool = memoryForkTool(writer, { onRefused: (refusal) => refused.push(refusal) });
  const task = await buildTask(deps, { ...input, base, tool, signal, hasWritten: () => draft.changes.length > 0 });
  const outcome = await deps.fork.run(task, signal);
  const { usage } = outcome;
  if (outcome.kind !== "answered") return { kind: "failed", ...describeFailure(outcome), usage };
  if (deps.writing.kind === "text") {
    const applied = await applyWrites(writer, outcome.text);
    if (applied.kind === "unreadable" && !isNothing(outcome.text))
      return { kind: "failed", why: "answer", message: applied.message, usage };
    if (applied.kind === "applied") refused.push(...applied.refused);
  }
  if (draft.changes.length === 0) return { kind: "nothing", refused, conflicts: [], usage };
  const sources = addReadTexts(input.trust, outcome.said);
  const { committed, conflicts } = await commitDraft(deps, { changes: draft.changes, base, sources, provenance });
  switch (committed.kind) {
    case "committed":
      return { kind: "saved", saved: describeSaved(committed.revision, { base, draft }), refused, conflicts, usage };
    case "unchanged":
    case "conflict":
      return { kind: "nothing", refused, conflicts, usage };
    case "refused":
      return { kind: "failed", why: "unwritten", message: "It looks like a secret.", usage };
    case "busy":
      return { kind: "failed", why: "unwritten", message: `The memories are written by ${committed.holder}.`, usage };
    case "invalid":
    case "failed":
      return { kind: "failed", why: "unwritten", message: committed.message, usage };
  }
}

interface TaskInput extends Pick<ExtractInput, "sources" | "turnsMax" | "reach" | "prompt"> {
  readonly base: readonly MemoryText[];
  readonly tool: ForkTool;
  readonly hasWritten: () => boolean;
  readonly signal: AbortSignal;
}

/** `skip`: nothing is sent afterwards that could read what was written to the cache, if all goes well. */
async function buildTask(
  { rank, now, writing }: Pick<ExtractDeps, "rank" | "now" | "writing">,
  { base, tool, hasWritten, sources, turnsMax, reach, prompt, signal }: TaskInput,
): Promise<ForkTask> {
  const listed = base.filter(({ role }) => role === "memory");
  const ranked = rank(sources.own.join("\n"), listed.slice(0, manifestMemoriesMax));
  // Without a ranking the fork looks for itself.
  const timed = AbortSignal.any([signal, AbortSignal.timeout(extractRankMillisMax)]);
  const related = await raceAbort(ranked, { signal: timed, instead: () => [] });
  const textByPath = new Map(listed.map((memory) => [memory.path, memory]));
  const shown = related.slice(0, shownMemoriesMax).flatMap(({ path }) => textByPath.get(path) ?? []);
  const directive = extractionPrompt({
    writing: writing.kind,
    turnsMax,
    today: new Date(now()).toISOString().slice(0, 10),
    since: sources.own[0] ?? "",
    manifest: describeForModel(listed, { now: now(), memoriesMax: manifestMemoriesMax }),
    shown: shown.map((memory) => showMemory(memory, { now: now(), driftByPath: new Map() })),
    template: prompt,
  });
  const limits = { triesMax: extractTriesMax, timeMillisMax: extractMillisMax, ...reach };
  const common = { directive, source: "extraction", cacheWrite: "skip", ...limits } as const;
  if (writing.kind === "text") return { ...common, roundsMax: extractTextRoundsMax, permit: denyAll };
  const own = [tool, ...writing.own];
  return {
    ...common,
    roundsMax: turnsMax,
    ownTools: own,
    permit: forkPermission({ ...writing, ownTools: own.map(({ name }) => name) }),
    endsWith: () => (hasWritten() ? "calls" : "answer"),
  };
}

const denyAll: ForkTask["permit"] = () =>
  Promise.resolve({ kind: "denied", reason: "No tool is used here. Answer with the list alone." });

/** What was written before a fork ran out of replies is thrown away: nobody knows what it read for it. */
function describeFailure(
  outcome: Exclude<ForkOutcome, { kind: "answered" }>,
): Pick<Extract<ExtractOutcome, { kind: "failed" }>, "why" | "message"> {
  if (outcome.kind === "failed") return { why: "model", message: outcome.message };
  if (outcome.why === "aborted") return { why: "aborted", message: "It was stopped." };
  return { why: "model", message: outcome.why === "rounds" ? "It ran out of replies." : "The context has no room." };
}

/** What the fork read with the host's tools or by recall is somebody else's, and it wrote right after. */
function addReadTexts(trust: TrustSources, said: readonly Message[]): TrustSources {
  const names = new Map(
    said.flatMap(({ content }) =>
      content.flatMap((block) => (block.type === "tool_use" ? [[block.id, block.name] as const] : [])),
    ),
  );
  const read = said.flatMap(({ content }) =>
    content.flatMap((block) =>
      block.type === "tool_result" && names.get(block.tool_use_id) !== memoryToolDefinition.name
        ? resultTexts(block)
        : [],
    ),
  );
  return read.length === 0 ? trust : { ...trust, outside: [...read, ...trust.outside], arrived: "since-user" };
}

/** In text mode a model may say in words that there is nothing. */
const isNothing = (answer: string): boolean => /^\s*["'(]?(?:nothing|none|no (?:new )?memor)/i.test(answer);

interface DraftCommit {
  readonly changes: readonly MemoryChange[];
  readonly base: readonly MemoryText[];
  readonly sources: TrustSources;
  readonly provenance: MemoryProvenance;
}

interface CommittedDraft {
  readonly committed: MemoryCommitOutcome;
  readonly conflicts: readonly string[];
}

/** A file that somebody else has changed meanwhile keeps their text. The day's log is written again on top of theirs. */
async function commitDraft(
  { memories, now }: ExtractDeps,
  { changes, base, sources, provenance }: DraftCommit,
): Promise<CommittedDraft> {
  const logPath = dayLogPath(now());
  const conflicts: string[] = [];
  let wanted = judgeChanges(changes, { existing: base, sources, provenance });
  for (let attempt = 0; ; attempt += 1) {
    if (wanted.length === 0) return { committed: { kind: "unchanged" }, conflicts };
    const log = await memories.read(logPath);
    const logText = appendDayLog(log?.text, { changes: wanted, at: now(), session: provenance.session });
    const committed = await memories.commit({
      author: "extraction",
      provenance,
      message: `extract ${wanted.map(({ path }) => path).join(", ")}`,
      changes: [...wanted, { path: logPath, expected: log?.hash ?? "absent", text: logText }],
    });
    if (committed.kind !== "conflict" || attempt >= extractCommitTriesMax) return { committed, conflicts };
    const lost = new Set(committed.paths);
    conflicts.push(...committed.paths.filter((path) => path !== logPath));
    wanted = wanted.filter(({ path }) => !lost.has(path));
  }
}

function describeSaved(
  { id, changes }: MemoryRevision,
  { base, draft }: { readonly base: readonly MemoryText[]; readonly draft: DraftDirectory },
): MemoriesSavedEvent {
  const memoryByPath = new Map([...base, ...draft.files].map((memory) => [memory.path, memory]));
  const written = new Set(draft.changes.map(({ path }) => path));
  return {
    kind: "memories-saved",
    by: "extraction",
    revision: id,
    memories: changes
      .filter(({ path }) => written.has(path))
      .map(({ path, after }) => ({
        path,
        name: memoryByPath.get(path)?.name ?? path,
        description: after === undefined ? "" : (memoryByPath.get(path)?.description ?? ""),
        change: after === undefined ? "deleted" : "saved",
      })),
  };
}
