import { z } from "zod";
import {
  cacheEdits,
  type ExtensionReply,
  type CacheEditsReport,
  cacheEditsBeta,
  cacheDeletionsMax,
} from "palimpsest/internal/schema/wire/extension";
import { formatCount, plural } from "palimpsest/internal/text/format-count";
import type { JsonObject } from "palimpsest/internal/schema/json";
import type { WireBlock } from "palimpsest/internal/schema/wire/wire-block";
import type { MessagesRequest } from "palimpsest/internal/schema/wire/messages-request";
import type { CachePlan } from "palimpsest/internal/cache/prompt-cache";
import type { Prompt, WithheldResult } from "palimpsest/internal/cache/prompt";
import { type ShownChange, type ShownRequest, withChanges } from "../prompt/request-rendition.ts";
import type { ServerOffer } from "../models-page.ts";
import type { BetaField, CheckInput, Rule } from "../validate/check-input.ts";
import { invalid, type Refusal } from "../refusal.ts";

const count = z.int().nonnegative();

/** In a reply's trace line: what became of the results that the request deletes in the cache by reference. */
const deletionsLine = {
  cacheEdits: z
    .object({ applied: z.array(z.string()), ignored: z.array(z.string()), deleted_input_tokens: count })
    .optional(),
};

type DeletionsLine = z.infer<z.ZodObject<typeof deletionsLine>>;

const deletionsForTrace = ({ cache_edits: report }: ExtensionReply): DeletionsLine =>
  report === undefined ? {} : { cacheEdits: copyReport(report) };

const copyReport = ({ applied, ignored, ...tokens }: CacheEditsReport): NonNullable<DeletionsLine["cacheEdits"]> => ({
  applied: [...applied],
  ignored: [...ignored],
  ...tokens,
});

/** As the command line lists it. */
export interface DeletionsListed {
  readonly cacheEdits: NonNullable<DeletionsLine["cacheEdits"]> | null;
}

const deletionsListed = (reply: DeletionsLine | undefined): DeletionsListed => ({
  cacheEdits: reply?.cacheEdits ?? null,
});

/** In a few words; empty if the request deletes nothing. */
function deletionsText({ cacheEdits: report }: DeletionsListed): readonly string[] {
  if (report === null) return [];
  const { applied, ignored, deleted_input_tokens: deleted } = report;
  const others = ignored.length === 0 ? "" : `, ${formatCount(ignored.length)} not there`;
  return [
    `deleted ${formatCount(applied.length)} ${plural(applied.length, "result")}, ${formatCount(deleted)} tokens${others}`,
  ];
}

export interface WithheldResults {
  /** Ids of the calls whose results were left out of what was read. */
  readonly applied: readonly string[];
  /** Ids that were asked for but not found. */
  readonly ignored: readonly string[];
  readonly tokens: number;
}

/** Results withheld by the request that this reply answers. */
function findWithheld(reply: DeletionsLine | undefined): WithheldResults {
  const { applied = [], ignored = [], deleted_input_tokens: tokens = 0 } = reply?.cacheEdits ?? {};
  return { applied, ignored, tokens };
}

/** Whether the request no longer deletes something that the previous reply left out. */
function releasesDeletion(before: DeletionsLine | undefined, params: JsonObject): boolean {
  const { applied } = findWithheld(before);
  if (applied.length === 0) return false;
  const read = cacheEdits.safeParse(params["cache_edits"]);
  const named = new Set(read.success ? read.data.deletions.map(({ tool_use_id: id }) => id) : []);
  return applied.some((id) => !named.has(id));
}

/** Replaces a deleted result, for the responder. It costs no tokens. */
const deletedResultText = "[Tool result deleted from the cache]";

export interface DeletionInput {
  readonly request: MessagesRequest;
  /** How the request is shown with nothing deleted. */
  readonly shown: ShownRequest;
  /** What the cache would do for this prompt at the start of the request. */
  readonly look: (prompt: Prompt) => CachePlan;
}

/**
 * How the request is shown without the results that it deletes by reference: those in the part that the cache holds at
 * this moment. The others are shown. If nothing is deleted, nothing is examined.
 */
function withDeletions({ request, shown, look }: DeletionInput): ShownRequest {
  const requestedIds = deletionIds(request);
  if (requestedIds.length === 0) return shown;
  const resultById = findDeletableResults(request, { requestedIds: new Set(requestedIds), shown });
  const { deleted } = look({ ...shown.prompt, withheld: { resultById, tokens: 0 } });
  if (deleted === undefined) return shown;
  const deletedById = new Map(deleted.ids.flatMap((id) => findEntry(resultById, id)));
  const withheld = { resultById: deletedById, tokens: deleted.tokens };
  return {
    prompt: { ...shown.prompt, tokens: shown.prompt.tokens - deleted.tokens, withheld },
    rendering: withChanges(
      shown.rendering,
      [...deletedById.values()].map(({ change }) => change),
    ),
  };
}

/**
 * What the reply reports; nothing if the request has no `cache_edits`. Deletions that were not made are reported as
 * ignored.
 */
function deletionReport(request: MessagesRequest, { deleted }: Pick<CachePlan, "deleted">): ExtensionReply {
  if (request.cache_edits === null || request.cache_edits === undefined) return {};
  const applied = new Set(deleted?.ids);
  const requestedIds = deletionIds(request);
  return {
    cache_edits: {
      applied: requestedIds.filter((id) => applied.has(id)),
      ignored: requestedIds.filter((id) => !applied.has(id)),
      deleted_input_tokens: deleted?.tokens ?? 0,
    },
  };
}

const deletionIds = ({ cache_edits: edits }: MessagesRequest): readonly string[] =>
  (edits?.deletions ?? []).map(({ tool_use_id: id }) => id);

interface ShownResult extends WithheldResult {
  /** The result shown as deleted. */
  readonly change: ShownChange;
}

const findEntry = (
  resultById: ReadonlyMap<string, ShownResult>,
  id: string,
): readonly (readonly [string, ShownResult])[] => {
  const result = resultById.get(id);
  return result === undefined ? [] : [[id, result]];
};

/** Results in the prompt: a result that the model is not shown anyway cannot be deleted. */
function findDeletableResults(
  { messages }: MessagesRequest,
  { requestedIds, shown }: { readonly requestedIds: ReadonlySet<string>; readonly shown: ShownRequest },
): ReadonlyMap<string, ShownResult> {
  const { blocks } = shown.prompt;
  const resultById = new Map<string, ShownResult>();
  for (const [position, { path, type, tokens, tokensUpTo }] of blocks.entries()) {
    if (type !== "tool_result") continue;
    const [, message = "", , block = ""] = path.split(".");
    const sent = resultAt(messages, { message: Number(message), block: Number(block) });
    if (sent === undefined || !requestedIds.has(sent.tool_use_id)) continue;
    const change = { message: Number(message), path, shown: { ...sent, content: deletedResultText } };
    resultById.set(sent.tool_use_id, { position, tokens, tokensUpTo, change });
  }
  return resultById;
}

function resultAt(
  messages: MessagesRequest["messages"],
  { message, block }: { readonly message: number; readonly block: number },
): Extract<WireBlock, { type: "tool_result" }> | undefined {
  const content = messages[message]?.content;
  const found = typeof content === "object" ? content[block] : undefined;
  return found?.type === "tool_result" ? found : undefined;
}

/** Whether results can be deleted in the cache by reference, which no public API lets a client do. */
export type CacheEditsSupport = "offered" | "none";

export const serverOffer = (offered: CacheEditsSupport = "none"): ServerOffer =>
  offered === "offered"
    ? { betas: [cacheEditsBeta], capabilities: { cache_edits: { supported: true } } }
    : { betas: [], capabilities: {} };

/** A deletion in the cache by reference leaves the prefix as it is, and so does asking for it. */
const isPartOfPrefix = (beta: string): boolean => beta !== cacheEditsBeta;

/** If it is not offered, the beta itself is unknown. */
const deletionsField: BetaField = {
  path: "cache_edits",
  value: (request) => request.cache_edits,
  betas: [cacheEditsBeta],
};

/** What may be deleted in the cache: results in messages that the model has answered, each once. */
const checkCacheEdits: Rule = ({ request }) => {
  const { cache_edits: edits, context_management: management } = request;
  if (edits === null || edits === undefined) return undefined;
  if (management?.edits?.some(({ type }) => type === "clear_tool_uses_20250919") === true)
    return invalid("`cache_edits` cannot be combined with `clear_tool_uses_20250919`", "cache_edits");
  const { deletions } = edits;
  if (deletions.length > cacheDeletionsMax)
    return invalid(
      `List should have at most ${cacheDeletionsMax} items after validation, not ${deletions.length}`,
      "cache_edits.deletions",
    );
  return checkDeletions(
    deletions.map(({ tool_use_id: id }) => id),
    request,
  );
};

function checkDeletions(ids: readonly string[], request: CheckInput["request"]): Refusal | undefined {
  if (ids.length === 0) return undefined;
  const placeById = resultPlaces(request);
  const placeByNamed = new Map<string, number>();
  for (const [at, id] of ids.entries()) {
    const path = `cache_edits.deletions.${at}.tool_use_id`;
    const first = placeByNamed.get(id);
    if (first !== undefined) return invalid(`\`${id}\` is deleted already, by deletion ${first}`, path);
    placeByNamed.set(id, at);
    const place = placeById.get(id);
    if (place === undefined) return invalid(`there is no \`tool_result\` block with the id \`${id}\``, path);
    if (place === "unanswered")
      return invalid(`the \`tool_result\` of \`${id}\` cannot be deleted before it is answered`, path);
  }
  return undefined;
}

function resultPlaces({ messages }: CheckInput["request"]): ReadonlyMap<string, "answered" | "unanswered"> {
  const latestReply = messages.findLastIndex(({ role }) => role === "assistant");
  const placeById = new Map<string, "answered" | "unanswered">();
  for (const [at, { content }] of messages.entries()) {
    if (typeof content === "string") continue;
    for (const block of content)
      if (block.type === "tool_result") placeById.set(block.tool_use_id, at < latestReply ? "answered" : "unanswered");
  }
  return placeById;
}

export interface CacheEditsOptions {
  /** `none` if it is absent. */
  readonly cacheEdits?: CacheEditsSupport;
}

/** Results deleted in the cache by reference: what that does to a request, its reply and its trace. */
export const cacheEditsExtension = {
  /** The option of the command line that offers it. */
  flag: {
    name: "cache-edits",
    summary: "let clients delete results in the prompt cache by reference, which no public API does",
    options: (isGiven: boolean): CacheEditsOptions => ({ cacheEdits: isGiven ? "offered" : "none" }),
  },
  /** The check of each of its options. */
  optionWants: { cacheEdits: [(value: unknown) => value === "offered" || value === "none", "offered or none"] },
  /** What the server declares about it. */
  offer: (options: CacheEditsOptions) => serverOffer(options.cacheEdits),
  field: deletionsField,
  rule: checkCacheEdits,
  /** Whether a beta is part of the cache key. */
  isOfPrefix: isPartOfPrefix,
  /** How a request is shown to the model with it. */
  show: withDeletions,
  /** Ids of the calls whose results a request asks to leave out. */
  askedIds: deletionIds,
  /** What a reply reports about it. */
  report: deletionReport,
  trace: {
    /** Fields in the trace line of a reply. */
    shape: deletionsLine,
    write: deletionsForTrace,
    withheld: findWithheld,
    releases: releasesDeletion,
    /** Why a cache entry is not read: it was written without results that the request no longer leaves out. */
    missReason: "deletion_missing",
    /** How the command line lists it for a reply. */
    listed: deletionsListed,
    text: deletionsText,
  },
} as const;
