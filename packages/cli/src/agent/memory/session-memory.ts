import { dirname } from "node:path";
import { memoryPieceName, type SystemPiece } from "palimpsest/internal/cache/baseline";
import { showIndex, withoutAges } from "palimpsest/internal/memory/directory/show-memory";
import { planSave } from "palimpsest/internal/memory/directory/memory-history";
import { parseMemory } from "palimpsest/internal/memory/directory/memory-text";
import { readToolPath, runMemoryCommand } from "palimpsest/internal/memory/directory/memory-tool";
import { type EntryId, millis, tokens } from "palimpsest/internal/schema/brand";
import { indexPath } from "palimpsest/internal/memory/directory/memory-path";
import type { SessionSources } from "palimpsest/internal/memory/trust-sources";
import type { BlobsDep } from "palimpsest/internal/ports/blobs";
import type { ClockDep } from "palimpsest/internal/ports/clock-dep";
import type { Memories, MemoriesDep, MemoryProvenance } from "palimpsest/internal/ports/memories";
import { fileWorkingTree } from "palimpsest/internal/store/files/file-working-tree";
import { DriftCheck } from "palimpsest/internal/memory/directory/find-drift";
import { agentMemories } from "palimpsest/internal/context/memory/agent-memories";
import { readMemories } from "palimpsest/internal/memory/directory/read-memories";
import { ContextMemory, type MemorySession } from "palimpsest/internal/context/memory/context-memory";
import { rankByModel } from "palimpsest/internal/context/memory/rank-by-model";
import { rankMemories } from "palimpsest/internal/context/memory/rank-memories";
import { recallCostDraft } from "palimpsest/internal/context/past-costs";
import type { CostLedger } from "palimpsest/internal/cache/cost-ledger";
import type { Summariser } from "palimpsest/internal/ports/model-port";
import type { JsonObject } from "palimpsest/internal/schema/json";
import type { SettingValues } from "palimpsest/internal/schema/setting-table";
import { createMemorySession, draftMemories } from "palimpsest/internal/context/memory/memory-session";
import { userText } from "palimpsest/internal/transcript/user-text";
import type { WorkingTree } from "palimpsest/internal/ports/working-tree";
import { usualStability, type WorkingStatePart } from "palimpsest/internal/ports/working-state";
import { readFrozenParts, readFrozenState } from "palimpsest/internal/session/frozen-state";
import type { Session } from "palimpsest/internal/session/session";
import type { Draft } from "palimpsest/internal/transcript/draft";
import type { Fold } from "palimpsest/internal/transcript/fold";
import {
  type MemoryAnswer,
  type MemoryCommandInput,
  memoryOffRefusal,
  memoryToolName,
  type MemoryToolDeps,
  refuseMemory,
} from "../../tool/memory-tool.ts";
import { findWordsIn } from "../../tool/search/find-words.ts";
import { renderMemoryIndex, renderMemorySection } from "./memory-section.ts";

/** What a session's agent has of the project's memory. Everything is absent if the session began without memory. */
export interface SessionMemory {
  readonly tool: (MemoryToolDeps & { readonly closed: readonly string[] }) | undefined;
  /** Part of the frozen prefix: what is written during the session does not change it. */
  readonly piece: SystemPiece | undefined;
  /** The index behind a boundary, if it has changed since the prefix was frozen. */
  readonly part: WorkingStatePart | undefined;
  /** Names texts of the system prompt that are not the user's: what is saved from them is a stranger's. */
  readonly hear: (texts: readonly string[]) => void;
  /** For the user, when a session begins. */
  readonly warnings: readonly string[];
  /** Memories that fit the user's newest message. Must not reject: a failed recall yields none, never a failed turn. */
  readonly remind: (fold: Pick<Fold, "path">) => Promise<readonly Draft[]>;
}

interface SessionMemoryDeps extends BlobsDep, ClockDep {
  /** The working tree that memories are checked against. */
  readonly root: string;
  /** As in `PATH`. */
  readonly programFolders: string;
  /** Absent in a store without memories. */
  readonly memories?: Memories | undefined;
}

interface SessionMemoryInput {
  readonly session: Session;
  readonly model: string;
  /** Whether the user has memory on, now. */
  readonly isOn: () => boolean;
  /** Absent: no memories are attached by themselves. */
  readonly reminders?: RemindersInput | undefined;
  /** Who said what, up to now. Absent: as the session's log says. */
  readonly sources?: (() => SessionSources) | undefined;
  /** What the system prompt says before the index. Absent: the rules for the project's memory. */
  readonly rules?: string | undefined;
}

interface RemindersInput {
  /** How memories are found that fit a message, now. */
  readonly recall: () => SettingValues["memoryRecall"];
  /** Asked if a model is to choose. */
  readonly chooser: Pick<Summariser, "model" | "ask">;
  readonly costs: CostLedger;
}

/**
 * Tool and index belong to the first bytes of every request, so a session keeps what it began with: without memory it goes
 * on without, and with memory the tool stays and refuses once memory is turned off.
 */
export async function openSessionMemory(
  { memories, ...deps }: SessionMemoryDeps,
  { session, model, isOn, reminders, sources, rules }: SessionMemoryInput,
): Promise<SessionMemory> {
  const sent = await readFrozenParts(deps, readFrozenState(session.fold)?.byModel[model]?.sent);
  const isBegunWith = sent?.tools.some(({ name }) => name === memoryToolName) ?? (memories !== undefined && isOn());
  if (memories === undefined || !isBegunWith) return noMemory;
  // Of a session that began with memory the first bytes stay as they are; its tool says what is wrong.
  const problem = sent === undefined ? await memories.problem?.() : undefined;
  if (problem !== undefined) return { ...noMemory, warnings: [`This session has no memory. ${problem}`] };
  const { now, root, programFolders } = deps;
  const foreign: string[] = [];
  const heard = createMemorySession(session);
  const memorySession = { ...heard, sources: () => withForeign((sources ?? heard.sources)(), foreign) };
  const own = agentMemories({ memories, now, session: memorySession });
  const tree = fileWorkingTree({ deps: { now }, root, programFolders, findWords: findWordsIn(root) });
  const drift = new DriftCheck({ now }, tree);
  const link = memories.linkTo?.(indexPath);
  const readIndex = () => readShownIndex({ memories, now, drift });
  const first = sent === undefined ? await readIndex() : undefined;
  const piece =
    first === undefined
      ? sent?.system.find(({ name }) => name === memoryPieceName)
      : { name: memoryPieceName, text: renderMemorySection(first, rules) };
  const off = refuseMemory(memoryOffRefusal);
  return {
    piece,
    hear: (texts) => void foreign.push(...texts),
    warnings: first?.index.warnings ?? [],
    tool: {
      run: (command) => (isOn() ? runCommand(own, command) : off.run(command)),
      closed: link === undefined ? [] : [dirname(link)],
    },
    part: memoryPart(async () => {
      const index = isOn() ? renderMemoryIndex(await readIndex()) : "";
      return piece !== undefined && withoutAges(piece.text).endsWith(withoutAges(index)) ? undefined : index;
    }),
    remind:
      reminders === undefined
        ? async () => []
        : createReminder({ deps: { memories, now }, session: memorySession, tree, isOn, ...reminders }),
  };
}

interface ReminderInput extends RemindersInput, Pick<SessionMemoryInput, "isOn"> {
  readonly deps: MemoriesDep & ClockDep;
  readonly session: MemorySession;
  readonly tree: WorkingTree;
}

function createReminder({ recall, chooser, costs, isOn, ...input }: ReminderInput): SessionMemory["remind"] {
  const paid = new PaidCalls(costs);
  const byModel = rankByModel({ chooser, onPaid: (call) => paid.add(call), otherwise: rankMemories });
  const context = new ContextMemory({
    ...input,
    rank: (message, found) => (recall() === "model" ? byModel : rankMemories)(message, found),
  });
  let lastText: EntryId | undefined;
  return async (fold) => {
    const asked = isOn() && recall() !== "off" ? findUnanswered(fold) : undefined;
    // A request that is sent again asks for nothing new.
    if (asked === undefined || asked.id === lastText) return [];
    lastText = asked.id;
    const found = await context.relevant(asked.text).catch(() => undefined);
    return [...(found === undefined ? [] : [draftMemories(found)]), ...paid.takeDrafts()];
  };
}

const withForeign = (sources: SessionSources, foreign: readonly string[]): SessionSources =>
  foreign.length === 0
    ? sources
    : {
        ...sources,
        outside: [...foreign, ...sources.outside],
        arrived: sources.arrived === "never" ? "earlier" : sources.arrived,
      };

/** Also says what the provider's texts have no words for: that a memory exists already. */
async function runCommand(memories: Memories, command: MemoryCommandInput): Promise<MemoryAnswer> {
  const twin = command.command === "create" ? await findTwin(memories, command) : undefined;
  if (twin !== undefined)
    return {
      text: `Error: Not saved: /memories/${twin} says this already. Change that file if need be.`,
      isError: true,
    };
  return await runMemoryCommand({ memories, author: "agent", provenance: unknownSource }, command);
}

/** What the commands say about the source is replaced at the commit. */
const unknownSource = (): MemoryProvenance => ({ at: millis(0), trust: "untrusted" });

/** The path of a memory with the same text. */
async function findTwin(
  memories: Memories,
  { path = "", file_text: text = "" }: MemoryCommandInput,
): Promise<string | undefined> {
  const place = readToolPath(path);
  if (place.kind !== "inside") return undefined;
  const existing = await readMemories(memories);
  const { type = "project", ...draft } = parseMemory(text, place.path);
  const plan = planSave({ ...draft, type }, existing);
  return plan.kind === "duplicate" ? plan.path : undefined;
}

export const noMemory: SessionMemory = {
  tool: undefined,
  piece: undefined,
  part: undefined,
  warnings: [],
  hear: () => undefined,
  remind: async () => [],
};

/** Books what choosing cost, in the ledger at once and in the log with the next reminder. */
class PaidCalls {
  readonly #costs: CostLedger;
  #calls: { readonly model: string; readonly usage: JsonObject }[] = [];

  constructor(costs: CostLedger) {
    this.#costs = costs;
  }

  add({ model, usage }: { readonly model: string; readonly usage: JsonObject }): void {
    this.#costs.add({ source: "recall", model, usage, headerTokens: tokens(0) });
    this.#calls.push({ model, usage });
  }

  takeDrafts(): readonly Draft[] {
    const calls = this.#calls;
    this.#calls = [];
    return calls.length === 0 ? [] : [recallCostDraft(calls)];
  }
}

interface UserMessage {
  readonly id: EntryId | undefined;
  readonly text: string;
}

/** The user's newest message, if no reply has followed it yet. */
function findUnanswered({ path: { entries } }: Pick<Fold, "path">): UserMessage | undefined {
  const replied = entries.findLastIndex((entry) => entry.kind === "assistant" && !entry.synthetic);
  return entries
    .slice(replied + 1)
    .flatMap((entry) => {
      const text = userText(entry);
      return text === undefined ? [] : [{ id: entry.id, text }];
    })
    .at(-1);
}

interface IndexDeps extends MemoriesDep, ClockDep {
  readonly drift: DriftCheck;
}

async function readShownIndex({ memories, drift, now }: IndexDeps) {
  const listed = (await memories.list()).filter(({ role }) => role === "memory");
  const trusted = listed.filter(({ trust }) => trust === "trusted");
  const texts = await Promise.all(trusted.map(({ path }) => memories.read(path)));
  const driftByPath = await drift.check(texts.flatMap((memory) => memory ?? []));
  const file = await memories.read(indexPath);
  return {
    // Lines about the others fall out, like those about files that are gone.
    index: showIndex(file?.text ?? "", { memories: trusted, now: now(), driftByPath }),
    untrusted: listed.length - trusted.length,
  };
}

/** `read`: undefined if the prefix shows it. */
const memoryPart = (read: () => Promise<string | undefined>): WorkingStatePart => ({
  name: memoryPieceName,
  stability: usualStability.memory,
  snapshot: async ({ budgets: { tokensMax } }) => {
    const text = await read().catch(() => undefined);
    if (text === undefined) return undefined;
    const intro = "Your memory has changed since this session began. This counts in place of the index at its start:";
    return {
      kind: "state",
      pieces: [{ title: "memory", intro, text }],
      budget: { pieceTokensMax: tokensMax, tokensMax },
    };
  },
});
