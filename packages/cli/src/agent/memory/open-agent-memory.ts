import { randomUUID } from "node:crypto";
import { dirname } from "node:path";
import type { CostLedger } from "palimpsest/internal/cache/cost-ledger";
import { plainSummariser } from "palimpsest/internal/context/compact/plain-summariser";
import { indexPath } from "palimpsest/internal/memory/directory/memory-path";
import type { ClockDep } from "palimpsest/internal/ports/clock-dep";
import type { Memories } from "palimpsest/internal/ports/memories";
import type { ModelPort, Summariser } from "palimpsest/internal/ports/model-port";
import { openMemorySession } from "palimpsest/internal/store/files/memory-sessions";
import { findSmallFastModel } from "palimpsest/internal/tokens/known-models";
import type { ProjectSettings } from "../../settings/project-settings.ts";
import type { AgentParts } from "../agent-options.ts";
import type { FollowedSettings } from "../follow-settings.ts";
import { openSessionMemory, type SessionMemory } from "./session-memory.ts";

interface AgentMemoryInput {
  readonly settings: FollowedSettings;
  /** As they were when the session was opened. */
  readonly opening: ProjectSettings;
  readonly model: string;
  readonly port: ModelPort;
  readonly costs: CostLedger;
}

/** The project's memory, as the settings allow it. */
export async function openAgentMemory(
  { deps, session, root, options }: AgentParts,
  { settings, opening, model, port, costs }: AgentMemoryInput,
): Promise<SessionMemory> {
  const warnings = deps.memories === undefined ? [] : await watchMemories(deps, { memories: deps.memories, session });
  const memory = await openSessionMemory(
    { ...deps, root, programFolders: options.env["PATH"] ?? "" },
    {
      session,
      model,
      isOn: () => settings.current().settings.autoMemoryEnabled.value,
      reminders: {
        costs,
        chooser: smallModel({ deps, port, model, opening }),
        recall: () => settings.current().settings.memoryRecall.value,
      },
    },
  );
  return { ...memory, warnings: [...memory.warnings, ...warnings] };
}

/** Calls the handler before it closes. */
interface ClosingSession {
  onClose(handler: () => Promise<void>): unknown;
}

/**
 * What the user wrote before the session is recorded as theirs; what changes on disk while it is open is not, with memory
 * on or off, since a command of the agent may have done it. Returns what the user should know.
 */
export async function watchMemories(
  deps: ClockDep,
  {
    memories,
    session,
    onUnmarked,
  }: {
    readonly memories: Memories;
    readonly session: ClosingSession;
    /** Called when the session is closed and its mark removed. Must not reject. */
    readonly onUnmarked?: (() => Promise<void>) | undefined;
  },
): Promise<readonly string[]> {
  const link = memories.linkTo?.(indexPath);
  if (link === undefined) return [];
  const isRecorded = async (): Promise<boolean> => (await memories.problem?.()) === undefined;
  const recorded = (await isRecorded()) ? "all" : "not-all";
  const watched = await openMemorySession({ now: deps.now, uuid: randomUUID }, { folder: dirname(link), recorded });
  session.onClose(async () => {
    // Otherwise the mark stays, and the next look counts what it finds as nobody's.
    if (await isRecorded()) await watched.close();
    await onUnmarked?.();
  });
  return watched.unmarked === undefined ? [] : [watched.unmarked];
}

/** The provider's small fast model for a short question outside of the conversation, else the conversation's own. One try. */
function smallModel({
  deps,
  port,
  model,
  opening: { reading, resolved },
}: Pick<AgentMemoryInput, "port" | "model" | "opening"> & { readonly deps: ClockDep }): Summariser {
  const small = findSmallFastModel(model, reading.settings.models.value);
  return plainSummariser(
    { now: deps.now, wait: neverWait, random: Math.random, model: port },
    {
      model: small?.id ?? model,
      windowTokens: small?.windowTokens ?? resolved.window.tokens,
      outputTokensMax: small?.outputTokensMax ?? resolved.outputTokensMax.tokens,
      triesMax: 1,
    },
  );
}

/** With one try there is nothing to wait for. */
const neverWait = (): Promise<void> => Promise.resolve();
