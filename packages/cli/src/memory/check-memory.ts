import { realpath } from "node:fs/promises";
import { readMemories } from "palimpsest/internal/memory/directory/read-memories";
import { DriftCheck } from "palimpsest/internal/memory/directory/find-drift";
import { type DriftFinding, formatDrift } from "palimpsest/internal/memory/directory/show-memory";
import { loadInstructions } from "palimpsest/internal/memory/load-instructions";
import type { Memory } from "palimpsest/internal/ports/memories";
import { millis } from "palimpsest/internal/schema/brand";
import { fileWorkingTree } from "palimpsest/internal/store/files/file-working-tree";
import { modelDefault } from "../agent/agent-options.ts";
import { instructionPlace } from "../agent/instructions/instruction-place.ts";
import { instructionSource } from "../agent/instructions/instruction-source.ts";
import { openWorkspace } from "../host/workspace.ts";
import type { CommandContext } from "../program/command.ts";
import { readRequestedSettings } from "../program/setting-options.ts";
import { quantity } from "../text/format.ts";
import { type InstructionReport, instructionReport } from "../text/instruction-report.ts";
import { findWordsIn } from "../tool/search/find-words.ts";
import { openNet } from "../tool/web/get-page.ts";
import { claudeMemoryFolder, importedFrom, readClaudeMemories } from "./claude-memories.ts";
import { lookAtMemories } from "./open-memories.ts";

const now = () => millis(Date.now());

/** Which instruction files a session here would load. Nothing outside of the project is read unless the user allowed it. */
export async function checkInstructions(
  context: CommandContext,
  options: Parameters<typeof readRequestedSettings>[1]["options"] = {},
): Promise<InstructionReport> {
  const { env } = context;
  const workspace = openWorkspace(context);
  const { reading, resolved } = await readRequestedSettings(workspace, { options });
  const { root } = await workspace.allowRulePlace();
  const { home } = workspace;
  const place = instructionPlace({ home, env, cwd: await realpath(context.cwd), root, reading });
  const loaded = await loadInstructions(instructionSource({ net: openNet, home, now }), place);
  return instructionReport(loaded, { model: resolved.model ?? modelDefault, models: reading.settings.models.value });
}

export interface MemoryCheck {
  readonly memories: number;
  readonly untrusted: readonly string[];
  /** What memories name and what no longer exists. */
  readonly drifted: readonly { readonly path: string; readonly missing: readonly DriftFinding[] }[];
  /** Claude Code's memories of this project that were not brought over. */
  readonly notImported: number;
}

/** What a user should know about the project's memories. Changes nothing. */
export async function checkMemories(context: CommandContext): Promise<MemoryCheck> {
  const { root } = await openWorkspace(context).allowRulePlace();
  const memories = await lookAtMemories(context);
  const texts = memories === undefined ? [] : (await readMemories(memories)).filter(({ role }) => role === "memory");
  const tree = fileWorkingTree({
    deps: { now },
    root,
    programFolders: context.env["PATH"] ?? "",
    findWords: findWordsIn(root),
  });
  const drift = await new DriftCheck({ now }, tree).check(texts);
  const theirs = await readClaudeMemories(claudeMemoryFolder({ env: context.env, root }));
  const imported = new Set(texts.filter(isImported).map(({ path }) => path));
  return {
    memories: texts.length,
    untrusted: texts.filter(({ trust }) => trust === "untrusted").map(({ path }) => path),
    drifted: [...drift].flatMap(([path, missing]) => (missing.length === 0 ? [] : [{ path, missing }])),
    notImported: theirs.filter(({ path }) => !imported.has(path)).length,
  };
}

const isImported = ({ provenance }: Memory): boolean => provenance.importedFrom === importedFrom;

/** Lines for the user; at least one. */
export function memoryCheckText({ memories, untrusted, drifted, notImported }: MemoryCheck): string {
  return [
    memories === 0
      ? "no memories in this project yet"
      : `${quantity(memories, "memory")} in this project; \`palimpsest memory list\` lists what there is`,
    ...(untrusted.length === 0 ? [] : [`untrusted, shown to the model as quotations only: ${untrusted.join(", ")}`]),
    ...drifted.map(({ path, missing }) => `${path} ${formatDrift(missing) ?? ""}`),
    ...(notImported === 0
      ? []
      : [
          `Claude Code has ${quantity(notImported, "memory")} of this project: \`palimpsest memory import\` brings them over`,
        ]),
  ].join("\n");
}
