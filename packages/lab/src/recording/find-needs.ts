import type { Block, ToolResultBlock, ToolUseBlock } from "palimpsest/internal/schema/block";
import type { ToolUseId } from "palimpsest/internal/schema/brand";
import type { Entry } from "palimpsest/internal/schema/entry";
import { isArray, isObject, type Json, textField } from "palimpsest/internal/schema/json";
import { fileAction, callFilePath } from "palimpsest/internal/tokens/tool-kind";
import { toItem } from "palimpsest/internal/transcript/item";
import { identifierCharsMin, quotedLineCharsMin, strongIdentifiersMin } from "../limits.ts";
import type { Need, RecordedRound } from "./recording.ts";

/**
 * Finds the results that were needed again after the round in which they arrived. A line or an identifier is evidence only
 * if a single result contained it so far: one that occurred twice, or came from the user or the model, could have another
 * source. Strong evidence: a copied line, or several identifiers. Weak: fewer identifiers. One pass, linear in the text.
 */
export function findNeeds(rounds: readonly RecordedRound[]): Map<ToolUseId, Need> {
  const needs = new Map<ToolUseId, GrowingNeed>();
  const origins = new Origins();
  const reads = new UnchangedReads();
  for (const [at, { before, reply }] of rounds.entries()) {
    for (const entry of before) {
      for (const block of entryBlocks(entry)) {
        if (block.type === "tool_result" && !needs.has(block.tool_use_id))
          needs.set(block.tool_use_id, { born: at, strongRounds: [], weakRounds: [], rereadRounds: [] });
        origins.add(blockTexts(block), block.type === "tool_result" ? block.tool_use_id : "elsewhere");
      }
    }
    const blocks = reply.flatMap((entry) => entry.blocks);
    const texts = blocks.flatMap(blockTexts);
    for (const [toolUse, evidence] of origins.quotedIn(texts)) {
      const need = needs.get(toolUse);
      if (need !== undefined && at > need.born) need[isStrong(evidence) ? "strongRounds" : "weakRounds"].push(at);
    }
    for (const block of blocks) {
      const reread = block.type === "tool_use" ? reads.readAgain(block) : undefined;
      const need = reread === undefined ? undefined : needs.get(reread);
      if (need !== undefined && at > need.born && need.rereadRounds.at(-1) !== at) need.rereadRounds.push(at);
    }
    origins.add(texts, "elsewhere");
  }
  return needs;
}

interface GrowingNeed extends Need {
  readonly strongRounds: number[];
  readonly weakRounds: number[];
  readonly rereadRounds: number[];
}

interface Evidence {
  lines: number;
  readonly identifiers: Set<string>;
}

const isStrong = ({ lines, identifiers }: Evidence): boolean => lines > 0 || identifiers.size >= strongIdentifiersMin;

type Source = ToolUseId | "elsewhere";

/** The source of every long line and identifier so far. */
class Origins {
  readonly #sourceByLine = new Map<string, Source>();
  readonly #sourceByIdentifier = new Map<string, Source>();

  add(texts: readonly string[], source: Source): void {
    for (const words of texts) {
      for (const line of longLines(words)) addSource(this.#sourceByLine, line, source);
      for (const identifier of identifiersIn(words)) addSource(this.#sourceByIdentifier, identifier, source);
    }
  }

  /** The results that are the only source of something in these texts. */
  quotedIn(texts: readonly string[]): Map<ToolUseId, Evidence> {
    const found = new Map<ToolUseId, Evidence>();
    for (const words of texts) {
      for (const line of longLines(words)) {
        const evidence = evidenceFor(found, this.#sourceByLine.get(line));
        if (evidence !== undefined) evidence.lines += 1;
      }
      for (const identifier of identifiersIn(words))
        evidenceFor(found, this.#sourceByIdentifier.get(identifier))?.identifiers.add(identifier);
    }
    return found;
  }
}

/** A second source means that it is no longer evidence for either. */
function addSource(sources: Map<string, Source>, key: string, source: Source): void {
  const earlier = sources.get(key);
  if (earlier === undefined) sources.set(key, source);
  else if (earlier !== source) sources.set(key, "elsewhere");
}

function evidenceFor(found: Map<ToolUseId, Evidence>, source: Source | undefined): Evidence | undefined {
  if (source === undefined || source === "elsewhere") return undefined;
  const existing = found.get(source);
  if (existing !== undefined) return existing;
  const evidence: Evidence = { lines: 0, identifiers: new Set() };
  found.set(source, evidence);
  return evidence;
}

/** Reads of files that have not been changed since, by path and range. */
class UnchangedReads {
  readonly #readsByPath = new Map<string, Map<string, ToolUseId>>();

  /** The last read of the same range. A write makes all reads of its file stale. */
  readAgain(call: ToolUseBlock): ToolUseId | undefined {
    const path = callFilePath(call);
    const act = fileAction(call.name);
    if (path === undefined || act === undefined) return undefined;
    if (act === "write") {
      this.#readsByPath.delete(path);
      return undefined;
    }
    const reads = this.#readsByPath.get(path) ?? new Map<string, ToolUseId>();
    this.#readsByPath.set(path, reads);
    const range = callRange(call);
    const before = reads.get(range);
    reads.set(range, call.id);
    return before;
  }
}

/** All arguments except the path specify the part of the file. */
const callRange = (call: ToolUseBlock): string => {
  const path = callFilePath(call);
  const rest = Object.entries(call.input).filter(([, value]) => value !== path);
  return JSON.stringify(rest.toSorted(([a], [b]) => (a < b ? -1 : 1)));
};

const entryBlocks = (entry: Entry): readonly Block[] => toItem(entry, { at: 0, origin: "ours" })?.blocks ?? [];

/** The texts of a block: every string in a call's input, nothing of thinking. */
export function blockTexts(block: Block): readonly string[] {
  if (block.type === "text") return [block.text];
  if (block.type === "tool_use") return [...stringsIn(block.input)];
  return block.type === "tool_result" ? resultTexts(block) : [];
}

const resultTexts = ({ content = "" }: ToolResultBlock): readonly string[] =>
  typeof content === "string" ? [content] : content.flatMap((part) => textField(part, "text") ?? []);

function* stringsIn(value: Json): Generator<string> {
  if (typeof value === "string") yield value;
  else if (isArray(value)) for (const inner of value) yield* stringsIn(inner);
  else if (isObject(value)) for (const inner of Object.values(value)) yield* stringsIn(inner);
}

/** Line numbers that a tool adds to a file, and the + and - of a patch, are not part of a line. */
const presentationPattern = /^\s*(?:\d+(?:→|\t|:|\|)\s?|[+-](?=\s|\w))/;

export function* longLines(words: string): Generator<string> {
  if (words.length < quotedLineCharsMin) return;
  for (const raw of words.split("\n")) {
    if (raw.length < quotedLineCharsMin) continue;
    const line = raw.replace(presentationPattern, "").trim();
    if (line.length >= quotedLineCharsMin) yield line;
  }
}

const identifierPattern = new RegExp(`[A-Za-z_][A-Za-z0-9_]{${identifierCharsMin - 1},}`, "g");

export const identifiersIn = (words: string): readonly string[] => words.match(identifierPattern) ?? [];
