import { isObject, textField } from "palimpsest/internal/schema/json";
import { meetAgainBlocksMax } from "../limits.ts";
import type { Level } from "palimpsest/internal/cache/prompt";
import type { TraceBlock, Trace, TraceRequest } from "./read-trace.ts";
import { pathLevel, levels, type ReplyLine } from "./trace-line.ts";
import { type TextDifference, textDifference } from "./text-difference.ts";

/** The first place where the blocks of two requests differ. */
export type BlockChange =
  | { readonly kind: "same" }
  /** Request `n` was refused or lost before it became a prompt: it has no blocks to compare. */
  | { readonly kind: "no_prompt"; readonly n: number; readonly outcome: ReplyLine["outcome"] | null }
  /** The earlier request is a prefix of the later one. */
  | { readonly kind: "appended"; readonly position: number; readonly blocks: number; readonly tokens: number }
  | ({ readonly kind: "changed"; readonly oldHash: string; readonly newHash: string } & BlockPosition & WithDifference)
  | ({ readonly kind: "inserted"; readonly blocks: number; readonly newHash: string } & BlockPosition & WithDifference)
  | ({ readonly kind: "removed"; readonly blocks: number; readonly oldHash: string } & BlockPosition & WithDifference);

interface BlockPosition {
  readonly position: number;
  /** Its place in the later request; for a removed block, its place in the earlier one. */
  readonly path: string;
  readonly level: Level;
  readonly type: string | undefined;
}

interface WithDifference {
  /** Absent if the trace does not hold what differs. */
  readonly difference?: TextDifference;
}

export interface ComparedRequests {
  readonly trace: Pick<Trace, "blockByHash" | "requests">;
  readonly from: TraceRequest;
  readonly to: TraceRequest;
}

export function blockChange({ trace, from, to }: ComparedRequests): BlockChange {
  const promptless = [from, to].find(({ salts }) => salts === undefined);
  if (promptless !== undefined)
    return { kind: "no_prompt", n: promptless.n, outcome: promptless.reply?.outcome ?? null };
  const position = to.blocks.sharedWith(from.blocks);
  const old = from.blocks.from(position);
  const now = to.blocks.from(position);
  const [oldFirst] = old;
  const [newFirst] = now;
  const difference = describeDifference(trace, oldFirst, newFirst);
  if (oldFirst === undefined) return appendChange(position, now);
  if (newFirst === undefined) return removeChange({ position, first: oldFirst, blocks: old.length, difference });
  const meeting = meetAgain(old, now) ?? findLevelShift(old, now);
  if (meeting?.kind === "inserted") {
    const { path, level, type, hash } = newFirst;
    const alone = describeDifference(trace, undefined, newFirst);
    return { kind: "inserted", position, path, level, type, newHash: hash, blocks: meeting.blocks, ...alone };
  }
  if (meeting?.kind === "removed") {
    const alone = describeDifference(trace, oldFirst, undefined);
    return removeChange({ position, first: oldFirst, blocks: meeting.blocks, difference: alone });
  }
  const { path, type, hash: newHash } = newFirst;
  const { hash: oldHash } = oldFirst;
  return {
    kind: "changed",
    position,
    path,
    level: earlierLevel(oldFirst, newFirst),
    type,
    oldHash,
    newHash,
    ...difference,
  };
}

function appendChange(position: number, now: readonly TraceBlock[]): BlockChange {
  if (now.length === 0) return { kind: "same" };
  const tokens = now.reduce((sum, block) => sum + block.tokens, 0);
  return { kind: "appended", position, blocks: now.length, tokens };
}

const removeChange = ({
  position,
  first,
  blocks,
  difference,
}: {
  readonly position: number;
  readonly first: TraceBlock;
  readonly blocks: number;
  readonly difference: WithDifference;
}): BlockChange => ({
  kind: "removed",
  position,
  path: first.path,
  level: first.level,
  type: first.type,
  oldHash: first.hash,
  blocks,
  ...difference,
});

/** Which of the two lists returns first to what the other continues with: that one has additional blocks in between. */
function meetAgain(
  old: readonly TraceBlock[],
  now: readonly TraceBlock[],
): { readonly kind: "inserted" | "removed"; readonly blocks: number } | undefined {
  for (let blocks = 1; blocks <= meetAgainBlocksMax; blocks += 1) {
    // One for one: the block was changed, not moved.
    if (isAt(old, blocks, now[blocks])) return undefined;
    if (isAt(now, blocks, old[0])) return { kind: "inserted", blocks };
    if (isAt(old, blocks, now[0])) return { kind: "removed", blocks };
  }
  return undefined;
}

/**
 * Parts of a prompt stand in order: if another part begins on one side only, the rest of that part was removed or
 * added.
 */
function findLevelShift(
  old: readonly TraceBlock[],
  now: readonly TraceBlock[],
): { readonly kind: "inserted" | "removed"; readonly blocks: number } | undefined {
  const [oldRank, newRank] = [levelRank(old[0]), levelRank(now[0])];
  if (oldRank === newRank) return undefined;
  const [kind, longer] = oldRank < newRank ? (["removed", old] as const) : (["inserted", now] as const);
  const rank = Math.min(oldRank, newRank);
  const end = longer.findIndex((block) => levelRank(block) !== rank);
  return { kind, blocks: end === -1 ? longer.length : end };
}

const levelRank = (block: TraceBlock | undefined): number =>
  levels.findIndex((level) => level === pathLevel(block?.path ?? ""));

const isAt = (blocks: readonly TraceBlock[], at: number, wanted: TraceBlock | undefined): boolean =>
  wanted !== undefined && blocks[at]?.hash === wanted.hash;

/** A tool may belong to the system level for the cache, and later no more. */
const earlierLevel = (old: TraceBlock, now: TraceBlock): Level => {
  if (old.level === now.level) return now.level;
  if (old.level === "tools" || now.level === "tools") return "tools";
  return "system";
};

function describeDifference(
  { blockByHash }: ComparedRequests["trace"],
  old: TraceBlock | undefined,
  now: TraceBlock | undefined,
): WithDifference {
  const oldText = blockText(blockByHash, old);
  const newText = blockText(blockByHash, now);
  if (oldText === undefined || newText === undefined) return {};
  const difference = textDifference(oldText, newText);
  return difference === undefined ? {} : { difference };
}

/** Texts as they are, anything else as JSON; undefined if there is no block. */
function blockText(blockByHash: Trace["blockByHash"], block: TraceBlock | undefined): string | undefined {
  if (block === undefined) return "";
  const line = blockByHash.get(block.hash);
  if (line === undefined) return undefined;
  if (line.cut !== undefined && typeof line.value === "string") return line.value;
  const words = isObject(line.value) && line.blockType === "text" ? textField(line.value, "text") : undefined;
  return words ?? JSON.stringify(line.value);
}
