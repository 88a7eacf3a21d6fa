import type { BlobsDep } from "../../ports/blobs.ts";
import type { ResultContent } from "../../schema/block.ts";
import { type BlobId, type Bytes, bytes, type SessionId, type ToolUseId } from "../../schema/brand.ts";
import type { JsonObject } from "../../schema/json.ts";
import { type Draft, resultDraft } from "../../transcript/draft.ts";
import { judgeImage, originalBytes, stubText } from "./judge-image.ts";
import { loggedCharsMax } from "./limits.ts";
import { measureContent, type OffloadDecision, type OffloadLimits, planOffload } from "./plan.ts";
import { renderPreview } from "./render-preview.ts";
import type { Item } from "../../transcript/item.ts";
import type { Projection } from "../../transcript/projection.ts";

export interface RoundResult {
  readonly toolUse: ToolUseId;
  readonly tool: string;
  readonly content: ResultContent;
  readonly isError?: boolean | undefined;
  /** The tool's own limit, from its definition. */
  readonly resultCharsMax?: number | undefined;
  readonly offload?: "never" | undefined;
  /** What the tool found out about a file. It is kept in the result's entry. */
  readonly readFile?: JsonObject | undefined;
  /** One line for users. It is kept there too. */
  readonly summary?: string | undefined;
  /** `logged`: the transcript already holds it whole. It may still be offloaded until it is sent. */
  readonly state: "arrived" | "logged";
}

interface OffloadRoundInput {
  readonly session: SessionId;
  /** All results of the round so far. */
  readonly results: readonly RoundResult[];
  readonly limits: OffloadLimits;
  /** What an earlier call decided and a sent request has frozen. */
  readonly decided?: ReadonlyMap<ToolUseId, OffloadDecision>;
}

export interface OffloadOutcome {
  /** To append in this order: the results that arrived, then the edit that says what was offloaded. */
  readonly drafts: readonly Draft[];
  /** What that edit holds. */
  readonly replaced: readonly ReplacedResult[];
  readonly decisions: ReadonlyMap<ToolUseId, OffloadDecision>;
  readonly warnings: readonly OffloadWarning[];
}

interface OffloadWarning {
  readonly code: "offload-failed" | "image-not-kept" | "result-cut";
  readonly toolUse: ToolUseId;
  /** One line for the user. */
  readonly message: string;
}

/** An item of the edit. `blob` is absent if the transcript's own entry holds the whole. */
interface ReplacedResult {
  readonly toolUse: ToolUseId;
  readonly blob?: BlobId;
  readonly media?: "text" | "json";
  readonly bytes: Bytes;
  readonly shown: string;
}

type StoreOutcome =
  | { readonly kind: "offloaded"; readonly replaced: ReplacedResult }
  | { readonly kind: "refused"; readonly message: string };

/**
 * Turns a round's results into entries of the transcript. The original of an offloaded result is stored once, as a
 * blob; its entry holds only the preview. Must not reject if the disk refuses: the result is then passed on whole, with
 * a warning.
 */
export async function offload(deps: BlobsDep, round: OffloadRoundInput): Promise<OffloadOutcome> {
  const decided = round.decided ?? new Map<ToolUseId, OffloadDecision>();
  const warnings: OffloadWarning[] = [];
  const results: RoundResult[] = [];
  for (const result of round.results)
    results.push(result.state === "logged" ? result : await withoutFlawedImages(deps, { result, warnings }));
  const measured = results.map((result) => ({ ...result, ...measureContent(result.content) }));
  const decisions = new Map(planOffload({ results: measured, limits: round.limits, decided }));
  const drafts: Draft[] = [];
  const replaced: ReplacedResult[] = [];
  for (const result of results) {
    const isOffloaded = decisions.get(result.toolUse)?.kind === "offloaded" && !decided.has(result.toolUse);
    const stored = isOffloaded ? await storeOriginal(deps, { round, result }) : undefined;
    if (stored?.kind === "offloaded") replaced.push(stored.replaced);
    if (stored?.kind === "refused") {
      decisions.set(result.toolUse, { kind: "kept", why: "unwritten" });
      warnings.push(refusalWarning(result, stored.message));
    }
    if (result.state === "arrived") drafts.push(createDraft(result, { stored, rule: round.limits.preview }));
  }
  if (replaced.length > 0) drafts.push({ type: "offload", results: replaced });
  return { drafts, replaced, decisions, warnings };
}

/** Whether a line of the log can hold it whole. */
const isLoggable = (content: ResultContent): boolean => measureContent(content).wholeChars <= loggedCharsMax;

function refusalWarning({ toolUse, tool, content }: RoundResult, why: string): OffloadWarning {
  const what = `The output of ${tool} is too long to show and could not be written to disk`;
  return isLoggable(content)
    ? { code: "offload-failed", toolUse, message: `${what}, so it is sent whole: ${why}` }
    : { code: "result-cut", toolUse, message: `${what}; only a preview is left of it: ${why}` };
}

async function storeOriginal(
  deps: BlobsDep,
  { round, result }: { readonly round: OffloadRoundInput; readonly result: RoundResult },
): Promise<StoreOutcome> {
  const { toolUse, tool, content } = result;
  const { session, limits } = round;
  const encoded = encodeOriginal(content);
  const size = bytes(encoded.data.byteLength);
  const preview = { tool, id: toolUse, content, bytes: size, rule: limits.preview };
  if (encoded.kind === "in-log") {
    const shown = renderPreview({ ...preview, kept: { kind: "id" } });
    return { kind: "offloaded", replaced: { toolUse, bytes: size, shown } };
  }
  const put = await deps.blobs.put(encoded.data);
  if (put.kind === "failed") return { kind: "refused", message: put.message };
  const path = await deps.blobs.link?.({ blob: put.id, session, toolUse, media: encoded.media });
  const shown = renderPreview({ ...preview, kept: path === undefined ? { kind: "id" } : { kind: "file", path } });
  return { kind: "offloaded", replaced: { toolUse, blob: put.id, media: encoded.media, bytes: size, shown } };
}

type EncodedOriginal =
  | { readonly kind: "blob"; readonly media: "text" | "json"; readonly data: Uint8Array }
  /** Half a surrogate pair can't be encoded in UTF-8, but the log's JSON can escape it. */
  | { readonly kind: "in-log"; readonly data: Uint8Array };

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

function encodeOriginal(content: ResultContent): EncodedOriginal {
  if (typeof content !== "string")
    return { kind: "blob", media: "json", data: encode(JSON.stringify(content, null, 2)) };
  if (content.isWellFormed()) return { kind: "blob", media: "text", data: encode(content) };
  if (content.length <= loggedCharsMax) return { kind: "in-log", data: encode(content) };
  // Too long for a line of the log. As a text block in JSON no character is lost.
  return { kind: "blob", media: "json", data: encode(JSON.stringify([{ type: "text", text: content }], null, 2)) };
}

function createDraft(
  result: RoundResult,
  { stored, rule }: { readonly stored: StoreOutcome | undefined; readonly rule: OffloadLimits["preview"] },
): Draft {
  const { toolUse, tool, content, isError = false, readFile, summary } = result;
  const draftShowing = (shown: ResultContent): Draft =>
    resultDraft({ toolUse, content: shown, isError, readFile, summary });
  if (stored?.kind === "offloaded")
    return draftShowing(stored.replaced.blob === undefined ? content : stored.replaced.shown);
  if (stored === undefined || isLoggable(content)) return draftShowing(content);
  const size = bytes(measureContent(content).wholeChars);
  const nowhere = { kind: "nowhere", message: stored.message } as const;
  return draftShowing(renderPreview({ tool, id: toolUse, content, bytes: size, kept: nowhere, rule }));
}

/**
 * Replaces images that can't be sent by stubs that name where the original is. An image that can't be stored stays: the
 * guard before each request leaves it out.
 */
async function withoutFlawedImages(
  deps: BlobsDep,
  { result, warnings }: { readonly result: RoundResult; readonly warnings: OffloadWarning[] },
): Promise<RoundResult> {
  if (typeof result.content === "string") return result;
  const content: JsonObject[] = [];
  for (const part of result.content) {
    const verdict = part["type"] === "image" ? judgeImage(part) : undefined;
    if (verdict?.kind !== "flawed") {
      content.push(part);
      continue;
    }
    const put = await deps.blobs.put(originalBytes(part));
    if (put.kind === "failed") {
      const message = `An image of ${result.tool} can't be sent and could not be stored separately: ${put.message}`;
      warnings.push({ code: "image-not-kept", toolUse: result.toolUse, message });
      content.push(part);
      continue;
    }
    const text = stubText({ what: "image", why: verdict.flaw, facts: verdict.facts, id: put.id });
    content.push({ type: "text", text });
  }
  return { ...result, content };
}

export interface CollectRoundsOptions {
  /** What is known about a tool, by its name. */
  readonly toolOf?: (name: string) => Pick<RoundResult, "resultCharsMax" | "offload"> | undefined;
}

/**
 * The rounds of a view that another tool recorded, for `offload`. We have sent nothing of it, so nothing is frozen.
 * Results that an edit has already decided about are left out.
 */
export function collectImportedRounds(
  { items, decisions }: Pick<Projection, "items" | "decisions">,
  { toolOf }: CollectRoundsOptions = {},
): readonly (readonly RoundResult[])[] {
  const callById = new Map<ToolUseId, { readonly tool: string; readonly round: string }>();
  const rounds = new Map<string, RoundResult[]>();
  for (const item of items) {
    for (const block of item.blocks) {
      if (block.type === "tool_use") callById.set(block.id, { tool: block.name, round: replyKey(item) });
      const call = block.type === "tool_result" ? callById.get(block.tool_use_id) : undefined;
      if (block.type !== "tool_result" || call === undefined || decisions.has(block.tool_use_id)) continue;
      const { tool, round } = call;
      const { tool_use_id: toolUse, content = "" } = block;
      const result: RoundResult = { toolUse, tool, content, state: "logged", ...toolOf?.(tool) };
      rounds.set(round, [...(rounds.get(round) ?? []), result]);
    }
  }
  return [...rounds.values()];
}

const replyKey = ({ messageId, entry }: Item): string => messageId ?? entry;
