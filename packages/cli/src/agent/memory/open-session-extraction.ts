import { millisByLifetime } from "palimpsest/internal/cache/lifetime";
import type { ConversationContext } from "palimpsest/internal/context/conversation";
import type { StartedConversation } from "palimpsest/internal/context/session-context";
import { SessionLine } from "palimpsest/internal/context/line";
import { rankMemories } from "palimpsest/internal/context/memory/rank-memories";
import { SessionExtraction } from "palimpsest/internal/context/memory/session-extraction";
import { extractRecall } from "palimpsest/internal/layers/5-extract/limits";
import type { MemoryWriteMode } from "palimpsest/internal/layers/5-extract/run-extract";
import { ForkRecall, type SearchTranscripts } from "palimpsest/internal/memory/fork-recall";
import type { Fork } from "palimpsest/internal/ports/fork";
import type { SandboxUse } from "palimpsest/internal/ports/sandbox";
import type { LoopEvent } from "palimpsest/internal/schema/loop-event";
import { createProjectRecall } from "../../host/project-recall.ts";
import type { PermissionMode } from "../../tool/permission/decide-permission.ts";
import { memoryToolName } from "../../tool/memory-tool.ts";
import { recallToolName } from "../../tool/recall-tool.ts";
import type { AgentParts } from "../agent-options.ts";
import type { FollowedSettings } from "../follow-settings.ts";
import type { Toolbox } from "../tools/toolbox.ts";
import { readMemoryPrompt } from "../user-text.ts";

export interface BackgroundMemoryInput {
  readonly context: ConversationContext;
  readonly box: Pick<Toolbox, "tools">;
  /** A fork of the conversation. */
  readonly fork: Fork;
  readonly settings: FollowedSettings;
  readonly sandbox: () => SandboxUse;
  /** The session's permission mode. */
  readonly mode: () => PermissionMode;
  readonly spend: StartedConversation["spend"];
  readonly onEvent: (event: LoopEvent) => void;
  readonly warn: (warning: string) => void;
}

/** Undefined if the store has no memories, or the session began without them. */
export function openSessionExtraction(parts: AgentParts, input: BackgroundMemoryInput): SessionExtraction | undefined {
  const { session, deps, secrets, options, workspace } = parts;
  const { memories } = deps;
  const { context, fork, settings } = input;
  if (memories === undefined) return undefined;
  const search = searchProject(parts);
  return new SessionExtraction(
    {
      now: context.deps.now,
      wait: context.deps.wait,
      settings: context.deps.settings,
      memories,
      fork,
      rank: rankMemories,
      secrets,
      writing: () => chooseWriting(input, search),
      instructions: () => context.conversation.baseline.system.map(({ text }) => text),
      state: () =>
        backgroundMemoryState(settings, {
          turns: options.turns ?? "many",
          mode: input.mode(),
          flag: "flags.extraction",
        }),
      spend: input.spend,
      known: () => context.conversation.known,
      prompt: () => readPrompt(workspace.home, { work: "extraction", warn: input.warn }),
      cacheMillis: () => millisByLifetime[context.conversation.lifetimes.rolling],
      onEvent: input.onEvent,
    },
    { session, line: new SessionLine(session) },
  );
}

/** What a background fork may use for reading, if the agent has it. */
export const readTools = ["read", "grep", "glob", "bash"];

function chooseWriting(
  { box, sandbox }: Pick<BackgroundMemoryInput, "box" | "sandbox">,
  search: SearchTranscripts,
): MemoryWriteMode {
  const names = new Set(box.tools.map(({ name }) => name));
  if (!names.has(memoryToolName)) return { kind: "text" };
  return {
    kind: "tool",
    own: names.has(recallToolName) ? [new ForkRecall(search, extractRecall).tool(recallToolName)] : [],
    readTools: readTools.filter((name) => names.has(name)),
    sandbox: sandbox().kind === "held" ? "held" : "unheld",
  };
}

/** Searches the other sessions of the project, of any agent. */
export function searchProject({ workspace, options, session }: AgentParts): SearchTranscripts {
  const recall = createProjectRecall({
    locate: async () => {
      const project = await workspace.project();
      return project.kind === "located" ? project : undefined;
    },
    home: workspace.home,
    env: options.env,
  });
  return async (query) => {
    const outcome = await recall.search({ ...query, otherThan: session.id });
    return outcome.kind === "searched" ? outcome.searched : undefined;
  };
}

interface BackgroundMemoryPlace {
  readonly turns: "one" | "many";
  readonly mode: PermissionMode;
  readonly flag: "flags.extraction" | "flags.dream";
}

/**
 * Off in a project that is not trusted, whose texts would become memories; in plan mode, in which every write is denied; and
 * for a single turn, unless the user asked for it: with a flag, or a variable.
 */
export function backgroundMemoryState(
  settings: FollowedSettings,
  { turns, mode, flag }: BackgroundMemoryPlace,
): "on" | "off" {
  if (isUntrusted(settings) || mode === "plan") return "off";
  if (turns === "many") return "on";
  const { value, source } = settings.current().settings[flag];
  return value && /^(?:flag|environment) /.test(source) ? "on" : "off";
}

/** The user has refused to trust the project, or it wants more than it may and they were not asked. */
export function isUntrusted(settings: FollowedSettings): boolean {
  const { trust, untrusted } = settings.current();
  return trust === "refused" || (trust !== "trusted" && untrusted.length > 0);
}

interface PromptRequest {
  readonly work: "extraction" | "dream";
  readonly warn: (warning: string) => void;
}

/** Must not reject. */
export async function readPrompt(home: string, { work, warn }: PromptRequest): Promise<string | undefined> {
  const { text, warnings } = await readMemoryPrompt(home, work);
  for (const warning of warnings) warn(warning);
  return text;
}
