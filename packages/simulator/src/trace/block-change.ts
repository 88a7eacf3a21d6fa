import { isObject, textField } from "palimpsest/internal/schema/json";
import { meetAgainBlocksMax, differenceCharsMax, differenceContextChars } from "../limits.ts";
import type { Level } from "palimpsest/internal/cache/prompt";
import type { TraceBlock, Trace, TraceRequest } from "./read-trace.ts";
import { pathLevel, levels, type ReplyLine } from "./trace-line.ts";

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

/** The place where two texts differ, with a little of what both have around it. */
export interface TextDifference {
  /** Number of characters that both begin with. */
  readonly at: number;
  readonly before: string;
  readonly old: string;
  readonly now: string;
  readonly after: string;
}

/** Undefined if they are equal. One difference, from the first character that differs to the last. */
export function textDifference(old: string, now: string): TextDifference | undefined {
  if (old === now) return undefined;
  const start = countSharedStart(old, now);
  const end = countSharedEnd(old.slice(start), now.slice(start));
  return {
    at: start,
    before: clipStart(old.slice(0, start)),
    old: clipMiddle(old.slice(start, old.length - end)),
    now: clipMiddle(now.slice(start, now.length - end)),
    after: clipEnd(old.slice(old.length - end)),
  };
}

function countSharedStart(old: string, now: string): number {
  const most = Math.min(old.length, now.length);
  let at = 0;
  while (at < most && old[at] === now[at]) at += 1;
  return at > 0 && isHighHalf(old[at - 1]) ? at - 1 : at;
}

function countSharedEnd(old: string, now: string): number {
  const most = Math.min(old.length, now.length);
  let count = 0;
  while (count < most && old.at(-1 - count) === now.at(-1 - count)) count += 1;
  return count > 0 && isLowHalf(old.at(-count)) ? count - 1 : count;
}

const clipStart = (text: string): string =>
  text.length <= differenceContextChars ? text : `…${cutFront(text.slice(-differenceContextChars))}`;
const clipEnd = (text: string): string =>
  text.length <= differenceContextChars ? text : `${cutBack(text.slice(0, differenceContextChars))}…`;

function clipMiddle(text: string): string {
  if (text.length <= differenceCharsMax) return text;
  const half = differenceCharsMax / 2;
  return `${cutBack(text.slice(0, half))} … ${cutFront(text.slice(-half))}`;
}

/** A character outside the basic plane is a surrogate pair: a cut must not leave half of it. */
const cutFront = (text: string): string => (isLowHalf(text[0]) ? text.slice(1) : text);
const cutBack = (text: string): string => (isHighHalf(text.at(-1)) ? text.slice(0, -1) : text);
const isHighHalf = (half: string | undefined): boolean => half !== undefined && half >= "\uD800" && half <= "\uDBFF";
const isLowHalf = (half: string | undefined): boolean => half !== undefined && half >= "\uDC00" && half <= "\uDFFF";
