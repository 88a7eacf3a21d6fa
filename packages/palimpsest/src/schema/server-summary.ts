import { type Block, parseBlock, type PassedBlock } from "./block.ts";
import { field, isObject, type JsonObject, text } from "./json.ts";

/** A provider's own summary of a conversation: a signed block, which counts only as it was given and only where it stands first. */
export interface ServerSummary {
  /** That wrote it. Whether any other takes it back is nowhere said: those are shown its text. */
  readonly model: string;
  readonly block: PassedBlock;
}

/** The beta under which such blocks are asked for and taken back: with a request for one, and with all that hold one. */
export const serverSummaryBeta = "compact-2026-09-04";

/** Undefined where an entry has none, or one that could not be sent. */
export function readServerSummary(entry: JsonObject): ServerSummary | undefined {
  const given = field(entry, "serverSummary");
  if (!isObject(given)) return undefined;
  const model = text(given, "model");
  const block = parseBlock(field(given, "block") ?? null);
  return model !== undefined && block.type === "compaction" && summaryIn(block) !== undefined
    ? { model, block }
    : undefined;
}

/** What a compaction block says; undefined of other blocks, and where the compaction failed. */
export function summaryIn(block: Block): string | undefined {
  const said = block.type === "compaction" ? text({ ...block }, "content") : undefined;
  return said === undefined || said.trim() === "" ? undefined : said;
}
