import type { WireBlock, WireResultPart } from "palimpsest/internal/schema/wire/wire-block";
import type { CacheControl } from "palimpsest/internal/schema/wire/cache-control";
import { isFailedCompaction } from "../compaction/compaction-block.ts";
import { breakpointsMax } from "../limits.ts";
import type { Lifetime } from "palimpsest/internal/cache/lifetime";
import { invalid, type Refusal } from "../refusal.ts";
import { blockPath, contentBlocks, type CheckInput, isThinkingBlock, type Rule } from "./check-input.ts";

type Request = CheckInput["request"];

interface MarkedBlock {
  readonly path: string;
  readonly lifetime: Lifetime;
}

/** How many blocks may be marked, which ones, and that no longer-lived marker follows a shorter-lived one. */
export const checkBreakpoints: Rule = ({ request }) => {
  const misplaced = firstMisplaced(request);
  if (misplaced !== undefined) return misplaced;
  const marks = collectMarkers(request);
  const automatic = automaticMarker(request);
  const onLast = automatic === undefined ? undefined : marks.find(({ path }) => path === automatic.path);
  if (automatic !== undefined && onLast !== undefined && onLast.lifetime !== automatic.lifetime)
    return invalid(
      `the last cacheable block already has a breakpoint of another lifetime: ttl='${onLast.lifetime}' at ${onLast.path}`,
      "cache_control.ttl",
    );
  const all = automatic === undefined || onLast !== undefined ? marks : [...marks, { ...automatic, path: "" }];
  if (all.length > breakpointsMax)
    return invalid(`A maximum of ${breakpointsMax} blocks with cache_control may be provided. Found ${all.length}.`);
  return checkLifetimeOrder(all);
};

/**
 * Path of the block that the top-level `cache_control` marks: the last one that can be cached. A conversation always
 * has one among its messages, because a user's content is never empty.
 */
export const automaticBreakpoint = (request: Request): string | undefined => automaticMarker(request)?.path;

function automaticMarker(request: Request): MarkedBlock | undefined {
  const marker = request.cache_control;
  if (marker === undefined || marker === null) return undefined;
  for (let message = request.messages.length - 1; message >= 0; message -= 1) {
    const blocks = contentBlocks(request.messages[message]?.content ?? []);
    const index = blocks.findLastIndex((block) => isCacheable(block));
    if (index !== -1) return { path: blockPath(message, index), lifetime: markerLifetime(marker) };
  }
  return undefined;
}

const isCacheable = (block: WireBlock): boolean =>
  !isThinkingBlock(block) && !(block.type === "text" && block.text === "") && !isFailedCompaction(block);

const markerLifetime = (marker: CacheControl): Lifetime => marker.ttl ?? "5m";

function firstMisplaced({ messages, system }: Request): Refusal | undefined {
  for (const [at, block] of (typeof system === "string" ? [] : (system ?? [])).entries()) {
    const found = findMisplacedAt(block, `system.${at}`);
    if (found !== undefined) return found;
  }
  for (const [message, { content }] of messages.entries()) {
    if (typeof content === "string") continue;
    for (const [index, block] of content.entries()) {
      const found = findMisplacedIn(block, `${blockPath(message, index)}.${block.type}`);
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

function findMisplacedIn(block: WireBlock, path: string): Refusal | undefined {
  if (isThinkingBlock(block) && isMarked(block))
    return invalid("Extra inputs are not permitted", `${path}.cache_control`);
  for (const [at, part] of resultParts(block).entries()) {
    const found = findMisplacedAt(part, `${path}.content.${at}.${part.type}`);
    if (found !== undefined) return found;
  }
  return findMisplacedAt(block, path);
}

/**
 * Checks that a block may be marked itself: not an empty text, and not a part of a document, a search result or a
 * citation.
 */
function findMisplacedAt(block: WireBlock | WireResultPart, path: string): Refusal | undefined {
  if (block.type === "text" && block.text === "" && isMarked(block))
    return invalid("cache_control cannot be set for empty text blocks", path);
  const inside = findSubContent(block);
  const at = inside.parts.findIndex(isMarked);
  return at === -1
    ? undefined
    : invalid(
        "cache_control cannot be set on sub-content: mark the block that holds it",
        `${path}.${inside.field}.${at}.cache_control`,
      );
}

interface SubContent {
  readonly field: string;
  readonly parts: readonly { readonly cache_control?: unknown }[];
}

function findSubContent(block: WireBlock | WireResultPart): SubContent {
  switch (block.type) {
    case "text":
      return { field: "citations", parts: block.citations ?? [] };
    case "search_result":
      return { field: "content", parts: block.content };
    case "document": {
      const { source } = block;
      const parts = source.type === "content" && typeof source.content !== "string" ? source.content : [];
      return { field: "source.content", parts };
    }
    default:
      return { field: "", parts: [] };
  }
}

const isMarked = ({ cache_control }: { readonly cache_control?: unknown }): boolean =>
  cache_control !== undefined && cache_control !== null;

/** In the order in which blocks are processed: tools, system, messages. What a block holds comes before the block. */
function collectMarkers({ tools, system, messages }: Request): readonly MarkedBlock[] {
  const marks: MarkedBlock[] = [];
  const add = (path: string, marker: CacheControl | null | undefined): void => {
    if (marker !== undefined && marker !== null) marks.push({ path, lifetime: markerLifetime(marker) });
  };
  for (const [at, tool] of (tools ?? []).entries()) add(`tools.${at}`, tool.cache_control);
  for (const [at, block] of (typeof system === "string" ? [] : (system ?? [])).entries())
    add(`system.${at}`, block.cache_control);
  for (const [message, { content }] of messages.entries()) {
    if (typeof content === "string") continue;
    for (const [index, block] of content.entries()) {
      const path = blockPath(message, index);
      for (const [at, part] of resultParts(block).entries())
        if (part.type !== "browser_state") add(`${path}.content.${at}`, part.cache_control);
      if (block.type === "tool_addition" && block.tool.type === "tool_definition")
        add(`${path}.tool.definition`, block.tool.definition.cache_control);
      add(path, block.cache_control);
    }
  }
  return marks;
}

const resultParts = (block: WireBlock): readonly WireResultPart[] =>
  block.type === "tool_result" && typeof block.content === "object" ? block.content : [];

function checkLifetimeOrder(marks: readonly MarkedBlock[]): Refusal | undefined {
  const short = marks.findIndex(({ lifetime }) => lifetime === "5m");
  const late = short === -1 ? undefined : marks.slice(short).find(({ lifetime }) => lifetime === "1h");
  return late === undefined
    ? undefined
    : invalid(
        "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed in the following order: `tools`, `system`, `messages`.",
        late.path === "" ? "cache_control.ttl" : `${late.path}.cache_control.ttl`,
      );
}
