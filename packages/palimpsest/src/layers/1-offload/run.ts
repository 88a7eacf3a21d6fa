import type { BlobsDep } from "../../ports/blobs.ts";
import type { ResultContent } from "../../schema/block.ts";
import { type BlobId, type Bytes, bytes, type SessionId, type ToolUseId } from "../../schema/brand.ts";
import type { JsonObject } from "../../schema/json.ts";
import { type Draft, resultDraft } from "../../transcript/draft.ts";
import { judgeImage, originalBytes, stubText } from "./image.ts";
import { loggedCharsMax } from "./limits.ts";
import { measureContent, type OffloadDecision, type OffloadLimits, planOffload } from "./plan.ts";
import { previewOf } from "./preview.ts";

export interface RoundResult {
  readonly toolUse: ToolUseId;
  readonly tool: string;
  readonly content: ResultContent;
  readonly isError?: boolean | undefined;
  /** The tool's own, as its definition says. */
  readonly resultCharsMax?: number | undefined;
  readonly offload?: "never" | undefined;
  /** What the tool found a file to be: kept in the result's entry. */
  readonly readFile?: JsonObject | undefined;
  /** For people, in a line: kept there too. */
  readonly summary?: string | undefined;
  /** `logged`: the transcript holds it whole already; it may still be offloaded until it is sent. */
  readonly state: "arrived" | "logged";
}

export interface OffloadRound {
  readonly session: SessionId;
  /** All results of the round so far. */
  readonly results: readonly RoundResult[];
  readonly limits: OffloadLimits;
  /** What an earlier call of this decided and a sent request has frozen. */
  readonly decided?: ReadonlyMap<ToolUseId, OffloadDecision>;
}

export interface OffloadedRound {
  /** To append in this order: the results that arrived, then the edit that says what was offloaded. */
  readonly drafts: readonly Draft[];
  readonly decisions: ReadonlyMap<ToolUseId, OffloadDecision>;
  readonly warnings: readonly OffloadWarning[];
}

export interface OffloadWarning {
  readonly code: "offload-failed" | "image-not-kept" | "result-cut";
  readonly toolUse: ToolUseId;
  /** One line for a person. */
  readonly message: string;
}

/** An item of the edit; `blob` is absent where the transcript's own entry holds the whole. */
interface Replaced {
  readonly toolUse: ToolUseId;
  readonly blob?: BlobId;
  readonly media?: "text" | "json";
  readonly bytes: Bytes;
  readonly shown: string;
}

type Kept =
  | { readonly kind: "offloaded"; readonly replaced: Replaced }
  | { readonly kind: "refused"; readonly message: string };

/**
 * What a round's results look like in the transcript. The original of an offloaded result is stored once, as a blob: its
 * own entry holds only the preview. Must not reject for a disk that refuses: the result then passes whole, with a warning.
 */
export async function offload(deps: BlobsDep, round: OffloadRound): Promise<OffloadedRound> {
  const decided = round.decided ?? new Map<ToolUseId, OffloadDecision>();
  const warnings: OffloadWarning[] = [];
  const results: RoundResult[] = [];
  for (const result of round.results)
    results.push(result.state === "logged" ? result : await withoutFlawedImages(deps, { result, warnings }));
  const measured = results.map((result) => ({ ...result, ...measureContent(result.content) }));
  const decisions = new Map(planOffload({ results: measured, limits: round.limits, decided }));
  const drafts: Draft[] = [];
  const replaced: Replaced[] = [];
  for (const result of results) {
    const goes = decisions.get(result.toolUse)?.kind === "offloaded" && !decided.has(result.toolUse);
    const kept = goes ? await keep(deps, { session: round.session, result }) : undefined;
    if (kept?.kind === "offloaded") replaced.push(kept.replaced);
    if (kept?.kind === "refused") {
      decisions.set(result.toolUse, { kind: "kept", why: "unwritten" });
      warnings.push(refusalOf(result, kept.message));
    }
    if (result.state === "arrived") drafts.push(draftOf(result, kept));
  }
  if (replaced.length > 0) drafts.push({ type: "offload", results: replaced });
  return { drafts, decisions, warnings };
}

/** A line of the log holds it whole. */
const isLoggable = (content: ResultContent): boolean => measureContent(content).wholeChars <= loggedCharsMax;

function refusalOf({ toolUse, tool, content }: RoundResult, why: string): OffloadWarning {
  const what = `The output of ${tool} is too long to show and could not be written to disk`;
  return isLoggable(content)
    ? { code: "offload-failed", toolUse, message: `${what}, so it is sent whole: ${why}` }
    : { code: "result-cut", toolUse, message: `${what}; only a preview is left of it: ${why}` };
}

interface Keeping {
  readonly session: SessionId;
  readonly result: RoundResult;
}

async function keep(deps: BlobsDep, { session, result }: Keeping): Promise<Kept> {
  const { toolUse, tool, content } = result;
  const form = formOf(content);
  const size = bytes(form.data.byteLength);
  const preview = { tool, id: toolUse, content, bytes: size };
  if (form.kind === "in-log") {
    const shown = previewOf({ ...preview, kept: { kind: "id" } });
    return { kind: "offloaded", replaced: { toolUse, bytes: size, shown } };
  }
  const put = await deps.blobs.put(form.data);
  if (put.kind === "failed") return { kind: "refused", message: put.message };
  const path = await deps.blobs.link?.({ blob: put.id, session, toolUse, media: form.media });
  const shown = previewOf({ ...preview, kept: path === undefined ? { kind: "id" } : { kind: "file", path } });
  return { kind: "offloaded", replaced: { toolUse, blob: put.id, media: form.media, bytes: size, shown } };
}

type Form =
  | { readonly kind: "blob"; readonly media: "text" | "json"; readonly data: Uint8Array }
  /** Half a surrogate pair has no bytes of its own in UTF-8; the log's JSON can spell it. */
  | { readonly kind: "in-log"; readonly data: Uint8Array };

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

function formOf(content: ResultContent): Form {
  if (typeof content !== "string")
    return { kind: "blob", media: "json", data: encode(JSON.stringify(content, null, 2)) };
  if (content.isWellFormed()) return { kind: "blob", media: "text", data: encode(content) };
  if (content.length <= loggedCharsMax) return { kind: "in-log", data: encode(content) };
  // Too long for a line of the log: as a block of text in JSON no character is lost.
  return { kind: "blob", media: "json", data: encode(JSON.stringify([{ type: "text", text: content }], null, 2)) };
}

function draftOf(result: RoundResult, kept: Kept | undefined): Draft {
  const { toolUse, tool, content, isError = false, readFile, summary } = result;
  const logged = (shown: ResultContent): Draft => resultDraft({ toolUse, content: shown, isError, readFile, summary });
  if (kept?.kind === "offloaded") return logged(kept.replaced.blob === undefined ? content : kept.replaced.shown);
  if (kept === undefined || isLoggable(content)) return logged(content);
  const size = bytes(measureContent(content).wholeChars);
  const nowhere = { kind: "nowhere", message: kept.message } as const;
  return logged(previewOf({ tool, id: toolUse, content, bytes: size, kept: nowhere }));
}

interface Cleaning {
  readonly result: RoundResult;
  readonly warnings: OffloadWarning[];
}

/** Images that no request may hold become stubs that name where the original is. One that can't be kept stays: the guard before each request leaves it out. */
async function withoutFlawedImages(deps: BlobsDep, { result, warnings }: Cleaning): Promise<RoundResult> {
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
      const message = `An image of ${result.tool} can't be sent and could not be kept apart: ${put.message}`;
      warnings.push({ code: "image-not-kept", toolUse: result.toolUse, message });
      content.push(part);
      continue;
    }
    const text = stubText({ what: "image", why: verdict.flaw, facts: verdict.facts, id: put.id });
    content.push({ type: "text", text });
  }
  return { ...result, content };
}
