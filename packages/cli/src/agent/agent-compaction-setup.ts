import { join } from "node:path";
import type { PrefixChange, FrozenParts } from "palimpsest/internal/cache/baseline";
import type { StartedConversation } from "palimpsest/internal/context/session-context";
import type { CompactionSetup, SummaryOptions } from "palimpsest/internal/context/compact/compaction-setup";
import { SummaryPreparation } from "palimpsest/internal/context/compact/summary-preparation";
import { SessionFactBook } from "palimpsest/internal/context/compact/session-fact-book";
import { ConversationForks } from "palimpsest/internal/loop/conversation-forks";
import type { SessionInstructions } from "./session/session-instructions.ts";
import type { SessionNotes } from "palimpsest/internal/context/compact/session-notes";
import {
  announcementsInView,
  type ShownAnnouncement,
  announceChange,
  changesToAnnounce,
} from "./system-prompt/announcement.ts";
import { compactionSection } from "palimpsest/internal/memory/compaction-section";
import type { CompactionRequests } from "palimpsest/internal/ports/compaction-requests";
import type { Fork } from "palimpsest/internal/ports/fork";
import {
  createWorkingState,
  type RestoreRequest,
  usualStability,
  type WorkingStatePart,
} from "palimpsest/internal/ports/working-state";
import { findDiscoveredTools } from "../tool/mcp/known-server.ts";
import type { AgentParts } from "./agent-options.ts";
import { openSessionNotes } from "./session/open-session-notes.ts";
import { redactWorkingState } from "./session/session-redaction.ts";
import { readUserText, type UserText } from "./user-text.ts";
import { type PrefixInput, renderPrefix } from "./system-prompt/render-prefix.ts";
import type { SessionExtraction } from "palimpsest/internal/context/memory/session-extraction";
import { type AgentDream, openSessionDream } from "./memory/open-session-dream.ts";
import { type BackgroundMemoryInput, openSessionExtraction } from "./memory/open-session-extraction.ts";
import type { SessionMemory } from "./memory/session-memory.ts";
import type { Toolbox } from "./tools/toolbox.ts";
import type { RestoredPiece } from "palimpsest/internal/schema/restored-part";

export interface CompactionSetupInput extends StartedConversation {
  readonly box: Toolbox;
  readonly prefix: PrefixInput;
  readonly instructions: SessionInstructions;
  readonly requests: CompactionRequests | undefined;
  readonly memory?: Pick<SessionMemory, "part"> | undefined;
  /** For work beside the conversation. Absent: there is none. */
  readonly background?: Pick<BackgroundMemoryInput, "settings" | "sandbox" | "mode" | "onEvent" | "warn"> | undefined;
}

export interface AgentCompactionSetup extends CompactionSetup {
  readonly notes: SessionNotes | undefined;
  readonly extraction: SessionExtraction | undefined;
  readonly dream: AgentDream | undefined;
}

/**
 * Sets up compaction for an agent's conversation: its forks, the state of its tools, and the user's instructions for
 * summaries.
 */
export function agentCompactionSetup(parts: AgentParts, input: CompactionSetupInput): AgentCompactionSetup {
  const { deps, session, workspace, options, redaction } = parts;
  const { context, box, prefix, instructions, files, requests, memory } = input;
  const renderNow = () => renderPrefix(parts, prefix);
  const fork: Fork = {
    model: prefix.model,
    run: (task, signal) => new ConversationForks(context).run(task, signal),
  };
  const memoryInput = input.background && { ...input.background, context, box, fork, spend: input.spend };
  const extraction = memoryInput && openSessionExtraction(parts, memoryInput);
  const dream = memoryInput && openSessionDream(parts, memoryInput);
  return {
    session,
    facts: new SessionFactBook(deps, session),
    fork,
    extraction,
    dream,
    background: [
      ...(extraction === undefined ? [] : [extraction]),
      ...(dream === undefined
        ? []
        : [{ roundEnded: (calls: number) => (calls === 0 ? dream.turnEnded() : undefined) }]),
    ],
    notes: openSessionNotes(parts, {
      deps: context.deps,
      box,
      fork,
      home: workspace.home,
      turns: options.turns ?? "many",
    }),
    // A session of one turn has no pause in which to prepare; what starts at its end would only be stopped.
    preparation: options.turns === "one" ? undefined : new SummaryPreparation(context, session),
    requests,
    recallTool: box.tools.find(({ name }) => name === "recall")?.name,
    discovered: () => findDiscoveredTools(session.fold).map(({ name }) => name),
    summaryOptions: () => readSummaryOptions(workspace.home, renderNow),
    mode: options.turns === "one" ? "autonomous" : "attended",
    workingState: createWorkingState([
      ...headerParts({
        sent: (request) => instructions.partsBehind(context.conversation.baseline, request),
        now: async () => (await renderNow()).parts,
        announcements: () => announcementsInView(session.fold),
      }),
      instructions.part(),
      ...redactWorkingState(
        [
          ...(memory?.part === undefined ? [] : [memory.part]),
          ...box.workingState({
            files,
            cwd: prefix.cwd,
            isShownElsewhere: (path) => instructions.isInstruction(path, context.conversation.baseline),
          }),
        ],
        redaction,
      ),
    ]),
    reload: (request) => instructions.reload(context.conversation, request),
    onCompacted: () => instructions.announceReloaded(context.deps),
  };
}

/** A file of this name in the home folder replaces our prompt. */
const promptFile = join("prompts", "compact.md");

type RenderPrefix = () => ReturnType<typeof renderPrefix>;

/** Must not reject: a file that can't be read yields a warning, and the summary is made without it. */
export async function readSummaryOptions(home: string, render: RenderPrefix): Promise<SummaryOptions> {
  const [prompt, section] = await Promise.all([
    readUserText(join(home, promptFile), "prompt for summaries"),
    readProjectInstructions(render),
  ]);
  const warnings = [prompt.warning, section.warning].filter((warning) => warning !== undefined);
  return {
    ...(prompt.text === "" ? {} : { template: prompt.text }),
    ...(section.text === "" ? {} : { projectInstructions: section.text }),
    ...(warnings.length === 0 ? {} : { warnings }),
  };
}

async function readProjectInstructions(render: RenderPrefix): Promise<UserText> {
  try {
    const { instructions } = await render();
    const sections = instructions.files.map(({ text }) => compactionSection(text)).filter((text) => text !== "");
    return { text: sections.join("\n\n") };
  } catch (error) {
    return { text: "", warning: `Instructions for summaries could not be read: ${String(error)}` };
  }
}

interface HeaderDeps {
  /** What requests carry besides messages, from the boundary on. */
  readonly sent: (request: Pick<RestoreRequest, "isKept">) => FrozenParts | Promise<FrozenParts>;
  /** What they would carry if it were rendered now: instruction files are read again. */
  readonly now: () => Promise<FrozenParts>;
  /** What the view before the boundary says about it. */
  readonly announcements: () => readonly ShownAnnouncement[];
}

/**
 * Instructions and tools that differ from what requests carry. The messages that announced the difference are covered,
 * so it is announced again, in today's words, unless a kept message announces it. If the boundary brings a freshly
 * rendered fixed part, there is nothing to announce.
 */
export const headerParts = (deps: HeaderDeps): readonly WorkingStatePart[] => [
  headerPart(deps, { name: "instructions", kinds: ["system-added", "system-changed", "system-removed"] }),
  headerPart(deps, { name: "tools", kinds: ["tool-added", "tool-changed", "tool-removed"] }),
];

const headerPart = (
  { sent, now, announcements }: HeaderDeps,
  { name, kinds }: { readonly name: "instructions" | "tools"; readonly kinds: readonly PrefixChange["kind"][] },
): WorkingStatePart => ({
  name,
  stability: usualStability[name],
  snapshot: async ({ budgets: { tokensMax }, isKept }) => {
    const parts = await now();
    const kept = announcements().filter(({ entry }) => isKept(entry));
    const changes = changesToAnnounce({
      sent: await sent({ isKept }),
      announced: parts,
      now: parts,
      announcements: kept,
    });
    const pieces = changes.filter(({ kind }) => kinds.includes(kind)).flatMap(piecesToRestore);
    // The user's instructions are cut only if nothing else helps.
    const budget = { pieceTokensMax: tokensMax, tokensMax };
    return pieces.length === 0 ? undefined : { kind: "state", pieces, budget };
  },
});

function piecesToRestore(change: PrefixChange): readonly RestoredPiece[] {
  const announcement = announceChange(change);
  if (announcement === undefined) return [];
  const { content, ...data } = announcement;
  return [{ title: changeTitle(change), text: content, ...data }];
}

function changeTitle(change: PrefixChange): string {
  switch (change.kind) {
    case "tool-added":
    case "tool-changed":
      return change.tool.name;
    case "system-added":
    case "system-changed":
      return change.piece.name;
    case "tool-removed":
    case "system-removed":
      return change.name;
    case "model":
    case "thinking":
    case "betas":
    case "tools-reordered":
    case "system-reordered":
      return change.kind;
  }
}
