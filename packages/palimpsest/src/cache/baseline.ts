import type { TextBlock } from "../schema/block.ts";
import type { JsonObject } from "../schema/json.ts";
import type { FixedPart, ToolDefinition } from "../tokens/fixed-part.ts";

/** One text of the system prompt. A change of it is announced under `name`: a file's path, `environment`… */
export interface SystemPiece {
  readonly name: string;
  readonly text: string;
}

/** The name of the piece about the agent's memory. */
export const memoryPieceName = "memory";

/** What the requests of a session carry besides messages, as it would be rendered at one moment. */
export interface FrozenParts {
  readonly model: string;
  readonly thinking?: JsonObject | undefined;
  readonly betas: readonly string[];
  readonly tools: readonly ToolDefinition[];
  readonly system: readonly SystemPiece[];
}

/**
 * The parts as every request of a session sends them. They are rendered only at its start and at a compaction. Forks
 * get the same object, so its tools and blocks keep their identity and thereby their bytes.
 */
export interface Baseline extends FrozenParts {
  readonly systemBlocks: readonly TextBlock[];
}

/** Copies the lists: the caller may go on changing its own. A piece without text has no block. */
export function makeBaseline({ model, thinking, betas, tools, system }: FrozenParts): Baseline {
  return {
    model,
    ...(thinking === undefined ? {} : { thinking: structuredClone(thinking) }),
    betas: [...betas],
    tools: structuredClone(tools),
    system: system.map(({ name, text }) => ({ name, text })),
    systemBlocks: system.flatMap(({ text }) => (text.trim() === "" ? [] : [{ type: "text", text } as const])),
  };
}

/** For counting. Pieces that are named after a file or an address are instructions, and one is about memory; the others are the prompt. */
export function baselineFixedPart({
  model,
  system,
  tools,
}: Pick<FrozenParts, "model" | "system" | "tools">): FixedPart {
  const pieces = system.filter(({ text }) => text.trim() !== "");
  return {
    model,
    systemPrompts: pieces.filter((piece) => !isFile(piece) && !isMemory(piece)).map(({ text }) => text),
    memory: pieces.filter(isMemory).map(({ text }) => text),
    tools,
    memoryFiles: pieces.filter(isFile).map(({ name, text }) => ({ path: name, text })),
  };
}

const isMemory = ({ name }: SystemPiece): boolean => name === memoryPieceName;
const isFile = ({ name }: SystemPiece): boolean => fileName.test(name);
const fileName = /^(?:\/|[A-Za-z]:[\\/]|https?:\/\/)/;

export type PrefixChange =
  | { readonly kind: "model"; readonly before: string; readonly now: string }
  | { readonly kind: "thinking"; readonly before: JsonObject | undefined; readonly now: JsonObject | undefined }
  | { readonly kind: "betas"; readonly added: readonly string[]; readonly removed: readonly string[] }
  | { readonly kind: "tool-added" | "tool-changed"; readonly tool: ToolDefinition }
  | { readonly kind: "tool-removed"; readonly name: string }
  | { readonly kind: "tools-reordered" }
  | { readonly kind: "system-added"; readonly piece: SystemPiece }
  | { readonly kind: "system-changed"; readonly piece: SystemPiece; readonly before: string }
  | { readonly kind: "system-removed"; readonly name: string }
  | { readonly kind: "system-reordered" };

/**
 * What would have changed in the prefix. The loop announces it behind the conversation and leaves the prefix alone. To
 * announce each change once, `before` is what the model knows: the baseline, or the parts of the last announcement. The
 * model need not hear of a mere change of order; it is listed because it would break the cache.
 */
export function diffFrozenParts(before: FrozenParts, now: FrozenParts): readonly PrefixChange[] {
  const changes: PrefixChange[] = [];
  if (before.model !== now.model) changes.push({ kind: "model", before: before.model, now: now.model });
  if (jsonText(before.thinking) !== jsonText(now.thinking))
    changes.push({ kind: "thinking", before: before.thinking, now: now.thinking });
  const added = now.betas.filter((beta) => !before.betas.includes(beta));
  const removed = before.betas.filter((beta) => !now.betas.includes(beta));
  if (added.length + removed.length > 0) changes.push({ kind: "betas", added, removed });
  return [...changes, ...toolChanges(before.tools, now.tools), ...systemChanges(before.system, now.system)];
}

function toolChanges(before: readonly ToolDefinition[], now: readonly ToolDefinition[]): readonly PrefixChange[] {
  const { added, removed, both, reordered } = compareByName(before, now);
  return [
    ...added.map((tool): PrefixChange => ({ kind: "tool-added", tool })),
    ...both.flatMap(({ was, is }): PrefixChange[] =>
      jsonText(was) === jsonText(is) ? [] : [{ kind: "tool-changed", tool: is }],
    ),
    ...removed.map(({ name }): PrefixChange => ({ kind: "tool-removed", name })),
    ...(reordered ? [{ kind: "tools-reordered" } as const] : []),
  ];
}

function systemChanges(before: readonly SystemPiece[], now: readonly SystemPiece[]): readonly PrefixChange[] {
  const { added, removed, both, reordered } = compareByName(before, now);
  return [
    ...added.map((piece): PrefixChange => ({ kind: "system-added", piece })),
    ...both.flatMap(({ was, is }): PrefixChange[] =>
      was.text === is.text ? [] : [{ kind: "system-changed", piece: is, before: was.text }],
    ),
    ...removed.map(({ name }): PrefixChange => ({ kind: "system-removed", name })),
    ...(reordered ? [{ kind: "system-reordered" } as const] : []),
  ];
}

interface NameComparison<Part> {
  readonly added: readonly Part[];
  readonly removed: readonly Part[];
  readonly both: readonly { readonly was: Part; readonly is: Part }[];
  readonly reordered: boolean;
}

function compareByName<Part extends { readonly name: string }>(
  before: readonly Part[],
  now: readonly Part[],
): NameComparison<Part> {
  const wasByName = new Map(before.map((part) => [part.name, part]));
  const isByName = new Map(now.map((part) => [part.name, part]));
  const both = now.flatMap((is) => {
    const was = wasByName.get(is.name);
    return was === undefined ? [] : [{ was, is }];
  });
  const remaining = before.filter(({ name }) => isByName.has(name));
  return {
    added: now.filter(({ name }) => !wasByName.has(name)),
    removed: before.filter(({ name }) => !isByName.has(name)),
    both,
    reordered: remaining.some(({ name }, at) => both[at]?.is.name !== name),
  };
}

/** The order of fields counts, because it is sent. */
const jsonText = (value: JsonObject | undefined): string => (value === undefined ? "" : JSON.stringify(value));
