import type { Block, ToolUseBlock } from "../schema/block.ts";
import { tokens, type Tokens, type ToolUseId } from "../schema/brand.ts";
import { fileActOf, filePathOf } from "./file-act.ts";

export interface RepeatedRead {
  readonly path: string;
  readonly count: number;
  /** What one copy would not have cost: floor(total / count) × (count − 1). */
  readonly wasted: Tokens;
}

export interface SupersededRead {
  readonly path: string;
  readonly toolUse: ToolUseId;
  readonly tokens: Tokens;
}

export interface FileReads {
  /** Those that waste most come first. */
  readonly repeated: readonly RepeatedRead[];
  /** Reads of a file that was changed later and then read again: they show a version that is gone. */
  readonly superseded: readonly SupersededRead[];
}

/** Files that the view shows more than once. */
export function fileReads(blocks: Iterable<Block>, count: (block: Block) => Tokens): FileReads {
  const calls = new Map<ToolUseId, { readonly path: string; readonly kind: "read" | "write"; readonly at: number }>();
  const reads = new Map<string, { readonly toolUse: ToolUseId; readonly tokens: Tokens; readonly at: number }[]>();
  const written = new Map<string, number[]>();
  let at = 0;
  for (const block of blocks) {
    at += 1;
    if (block.type === "tool_use") {
      const touched = fileOf(block);
      if (touched === undefined) continue;
      calls.set(block.id, { ...touched, at });
      if (touched.kind === "write") push(written, touched.path, at);
    } else if (block.type === "tool_result") {
      const call = calls.get(block.tool_use_id);
      if (call?.kind === "read")
        push(reads, call.path, { toolUse: block.tool_use_id, tokens: count(block), at: call.at });
    }
  }
  const found = [...reads];
  return {
    repeated: found
      .flatMap(([path, of]) => (of.length < 2 ? [] : [{ path, count: of.length, wasted: wasted(of) }]))
      .toSorted((one, other) => other.wasted - one.wasted),
    superseded: found.flatMap(([path, of]) => superseded(path, of, written.get(path) ?? [])),
  };
}

function fileOf(block: ToolUseBlock): { path: string; kind: "read" | "write" } | undefined {
  const kind = fileActOf(block.name);
  const path = filePathOf(block);
  return kind === undefined || path === undefined ? undefined : { path, kind };
}

const wasted = (reads: readonly { readonly tokens: Tokens }[]): Tokens => {
  const total = reads.reduce((sum, read) => sum + read.tokens, 0);
  return tokens(Math.floor(total / reads.length) * (reads.length - 1));
};

interface Read {
  readonly toolUse: ToolUseId;
  readonly tokens: Tokens;
  readonly at: number;
}

/** A read counts as superseded when a write lies between it and a later read of the same file. */
function superseded(path: string, reads: readonly Read[], writes: readonly number[]): SupersededRead[] {
  const last = reads.at(-1);
  if (last === undefined) return [];
  return reads
    .filter((read) => writes.some((write) => write > read.at && write < last.at))
    .map(({ toolUse, tokens: size }) => ({ path, toolUse, tokens: size }));
}

function push<Key, Value>(into: Map<Key, Value[]>, key: Key, value: Value): void {
  const known = into.get(key);
  if (known === undefined) into.set(key, [value]);
  else known.push(value);
}
