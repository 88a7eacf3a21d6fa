import { join } from "node:path";
import type { Baseline } from "palimpsest/internal/cache/baseline";
import type { CompactedConversation } from "palimpsest/internal/context/start-conversation";
import type { AgentDeps, HookDeps } from "palimpsest/internal/context/deps";
import type { Compacting, SummaryWishes } from "palimpsest/internal/context/compact/compacting";
import { Preparation } from "palimpsest/internal/context/compact/preparation";
import { SessionFactBook } from "palimpsest/internal/context/compact/session-facts";
import { ConversationForks } from "palimpsest/internal/loop/fork";
import { instructionsLoaded } from "./hooks/instructions-loaded.ts";
import type { SessionNotes } from "palimpsest/internal/context/notes/session-notes";
import { tellingsIn } from "./system-prompt/tellings.ts";
import { headerParts } from "./working-state/header.ts";
import { compactionSection } from "palimpsest/internal/memory/compaction-section";
import type { CompactionAsks } from "palimpsest/internal/ports/compaction-asks";
import type { Fork } from "palimpsest/internal/ports/fork";
import { workingState } from "palimpsest/internal/ports/working-state";
import { discoveredTools } from "../tool/mcp/discovered.ts";
import type { Assembling } from "./assembling.ts";
import { sessionNotes } from "./notes.ts";
import { ownText, type OwnText } from "./own-text.ts";
import { type PrefixInput, prefixNow } from "./prefix.ts";
import type { Toolbox } from "./toolbox.ts";

export interface CompactingInput extends CompactedConversation {
  readonly deps: AgentDeps;
  readonly box: Toolbox;
  readonly prefix: PrefixInput;
  readonly baseline: Baseline;
  readonly asks: CompactionAsks | undefined;
}

export interface AgentCompacting extends Compacting {
  readonly notes: SessionNotes | undefined;
}

/** By what an agent's conversation is compacted: its forks, the state of its tools, what people ask of summaries. */
export function compactingFor(parts: Assembling, input: CompactingInput): AgentCompacting {
  const { deps, session, engine, options } = parts;
  const { box, prefix, baseline, files, asks } = input;
  const now = () => prefixNow(parts, prefix);
  const instructionPaths = new Set(baseline.system.map(({ name }) => name));
  const fork: Fork = {
    model: baseline.model,
    run: (task, signal) => new ConversationForks(input.deps, input.conversation()).run(task, signal),
  };
  return {
    session,
    facts: new SessionFactBook(deps, session),
    fork,
    notes: sessionNotes(parts, { deps: input.deps, box, fork, home: engine.home, turns: options.turns ?? "many" }),
    // Nobody waits between the turns of one who has only one; what begins at its end would only be stopped.
    preparation:
      options.turns === "one" ? undefined : new Preparation(input.deps, { session, conversation: input.conversation }),
    asks,
    recallTool: box.tools.find(({ name }) => name === "recall")?.name,
    discovered: () => discoveredTools(session.fold).map(({ name }) => name),
    wishes: () => wishesIn(engine.home, now),
    mode: options.turns === "one" ? "autonomous" : "attended",
    workingState: workingState([
      ...headerParts({
        sent: () => baseline,
        now: async () => (await now()).parts,
        tellings: () => tellingsIn(session.fold),
      }),
      ...box.workingState({ files, cwd: prefix.cwd, isToldElsewhere: (path) => instructionPaths.has(path) }),
    ]),
    onCompacted: () => reloaded(input.deps, now),
  };
}

/** A file of this name in the home folder takes the place of our prompt. */
const promptFile = join("prompts", "compact.md");

type PrefixNow = () => ReturnType<typeof prefixNow>;

/** Must not reject: what can't be read is told, and the summary comes without it. */
export async function wishesIn(home: string, now: PrefixNow): Promise<SummaryWishes> {
  const [prompt, section] = await Promise.all([
    ownText(join(home, promptFile), "prompt for summaries"),
    sectionIn(now),
  ]);
  const warnings = [prompt.warning, section.warning].filter((warning) => warning !== undefined);
  return {
    ...(prompt.text === "" ? {} : { template: prompt.text }),
    ...(section.text === "" ? {} : { projectInstructions: section.text }),
    ...(warnings.length === 0 ? {} : { warnings }),
  };
}

async function sectionIn(now: PrefixNow): Promise<OwnText> {
  try {
    const { instructions } = await now();
    const asked = instructions.files.map(({ text }) => compactionSection(text)).filter((text) => text !== "");
    return { text: asked.join("\n\n") };
  } catch (error) {
    return { text: "", warning: `Instructions for summaries could not be read: ${String(error)}` };
  }
}

/** Hooks are told which instructions count behind the boundary. Must not reject: they are told nothing of what can't be read. */
export async function reloaded(deps: HookDeps, now: PrefixNow): Promise<void> {
  const prefix = await now().catch(() => undefined);
  for (const file of prefix?.instructions.files ?? [])
    await deps.hooks.fire({ ...deps.place(), ...instructionsLoaded(file, "compact") }, new AbortController().signal);
}
