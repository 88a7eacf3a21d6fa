import { Inventory } from "../cache/inventory.ts";
import { markerTokens } from "../layers/2-clear/limits.ts";
import type { BlobsDep } from "../ports/blobs.ts";
import type { ByteSource, TranscriptsDep } from "../ports/transcripts.ts";
import { tokens, type Tokens, type EntryId, type SessionId } from "../schema/brand.ts";
import type { AssistantEntry, Entry } from "../schema/entry.ts";
import { contextTokens } from "../schema/usage.ts";
import { type FixedPart, noFixedPart } from "../tokens/fixed-part.ts";
import { estimateBlock } from "../tokens/estimate-block.ts";
import { believedFragmentTokensMax, believedHiddenTokensMax } from "../tokens/limits.ts";
import type { LearnedState } from "../tokens/learned-usage.ts";
import { type ContextLedger, TokenLedger } from "../tokens/token-ledger.ts";
import type { TextCounter } from "../tokens/text-counter.ts";
import type { Fold } from "../transcript/fold.ts";
import { type LoggedEntry, readLines } from "../transcript/read-lines.ts";
import { combineWatches } from "../transcript/view-watch.ts";
import { readFrozenFixedPart } from "./frozen-state.ts";
import { type OpenLogAtOptions, type OpenedLog, openLog, openLogAt, type OpenLogOptions } from "./open-log.ts";
import { findSystemPrompt } from "../transcript/path.ts";
import { promptHeadBytes } from "./limits.ts";
import type { ReceiptInput } from "../transcript/make-receipt.ts";

/** A log that was folded and counted in the same pass. */
export interface CountedLog extends OpenedLog {
  readonly ledger: ContextLedger;
  /** The results that could be cleared; kept only if `isClearable` was given. */
  readonly inventory: Inventory | undefined;
  /** The model of the newest reply on the path, or before the boundary that the path begins with. */
  readonly model: string | undefined;
  /** The window that the server declared for that model. */
  readonly serverTokens: Tokens | undefined;
  /** The largest context that the provider counted for that model, as far as the log was read; 0 if it counted none. */
  readonly recordedTokens: Tokens;
  /** What requests carry besides messages, according to the log. The ledger includes it. */
  readonly fixedPart: FixedPart;
}

interface CountedLogOptions extends OpenLogOptions {
  readonly isClearable?: ((tool: string) => boolean) | undefined;
  readonly residentTokensMin?: number | undefined;
  /** The caller's tokenizer. */
  readonly counter?: TextCounter | undefined;
}

export async function openCounted(
  deps: BlobsDep,
  { isClearable, residentTokensMin, counter, ...options }: CountedLogOptions,
): Promise<CountedLog> {
  const log = await openLog(deps, options);
  const count = counter?.believedBlock ?? estimateBlock;
  const inventory =
    isClearable === undefined ? undefined : new Inventory({ count, isClearable, markerTokens, residentTokensMin });
  return countLog(deps, { log, inventory, counter, source: options.source });
}

export async function openCountedAt(deps: BlobsDep, options: OpenLogAtOptions): Promise<CountedLog | undefined> {
  const log = await openLogAt(deps, options);
  return log === undefined ? undefined : countLog(deps, { log, source: options.source });
}

/** The ledger gets the fixed part before it sees the first count: what it learns from a count depends on it. */
async function countLog(
  deps: BlobsDep,
  {
    log,
    inventory,
    counter,
    source,
  }: {
    readonly log: OpenedLog;
    readonly inventory?: Inventory | undefined;
    readonly counter?: TextCounter | undefined;
    readonly source: ByteSource;
  },
): Promise<CountedLog> {
  const ours = await readFrozenFixedPart(deps, log.fold);
  const fixedPart = ours ?? (await readRecordedPart(source, log));
  const ledger = new TokenLedger({ learned: readLearnedState(log.fold), counter });
  ledger.carries(fixedPart);
  if (ours !== undefined) ledger.sendsOwn();
  log.fold.watchedBy(inventory === undefined ? ledger : combineWatches(ledger, inventory));
  const largest = findLargestCount(log.fold);
  const model = newestReply(log.fold)?.model ?? largest?.model;
  const serverTokens = largest?.window;
  return { ...log, ledger, inventory, model, serverTokens, recordedTokens: largest?.tokens ?? tokens(0), fixedPart };
}

/** The state that the newest boundary in force recorded. Logs of older versions record only the size of the fixed part. */
function readLearnedState({ projection }: Fold): LearnedState {
  const edit = projection.boundaries.at(-1)?.edit;
  if (edit?.type !== "boundary") return {};
  const { learned, fixedTokens, counted: count } = edit.metadata;
  const model = learned?.model ?? count?.model;
  if (learned !== undefined) return { ...learned, model };
  return fixedTokens === undefined ? {} : { model, request: { tokens: fixedTokens, bytes: {} } };
}

async function readRecordedPart(source: ByteSource, log: OpenedLog): Promise<FixedPart> {
  const prompt = await findRecordedPrompt(source, log);
  return prompt === undefined ? noFixedPart : { ...noFixedPart, systemPrompts: [prompt] };
}

function newestReply({ path }: Fold): AssistantEntry | undefined {
  const newest = path.entries.findLast((entry) => entry.kind === "assistant" && !entry.synthetic);
  return newest?.kind === "assistant" ? newest : undefined;
}

interface LargestCount {
  readonly model: string;
  readonly tokens: Tokens;
  /** The window that the server declared. */
  readonly window?: Tokens;
}

/** The largest context that was counted for the model that answered last, on the path or recorded by a boundary. */
export function findLargestCount(fold: Fold): LargestCount | undefined {
  const recorded = boundaryCounts(fold);
  const model = newestReply(fold)?.model ?? recorded.at(-1)?.model;
  if (model === undefined) return undefined;
  const before = recorded.flatMap((count) => (count.model === model ? [count.tokens] : []));
  const after = fold.path.logged.flatMap((logged) =>
    logged.entry.kind === "assistant" && logged.entry.model === model ? (plausibleCount(fold, logged) ?? []) : [],
  );
  const window = newestReply(fold)?.usage?.window ?? recorded.findLast((count) => count.model === model)?.window;
  return {
    model,
    tokens: tokens([...before, ...after].reduce((most, count) => Math.max(most, count), 0)),
    ...(window === undefined ? {} : { window: tokens(window) }),
  };
}

const boundaryCounts = ({
  projection,
}: Fold): readonly { readonly model: string; readonly tokens: number; readonly window?: number | undefined }[] =>
  projection.boundaries.flatMap(({ edit }) => (edit.type === "boundary" ? (edit.metadata.counted ?? []) : []));

/** Undefined if there is no count or an impossible one: what a log holds has no more tokens than bytes. */
function plausibleCount({ foreignUntil }: Fold, { entry, start }: LoggedEntry): Tokens | undefined {
  if (entry.kind !== "assistant" || entry.usage === undefined) return undefined;
  const hiddenTokensMax = start < foreignUntil ? believedFragmentTokensMax : believedHiddenTokensMax;
  const count = contextTokens(entry.usage);
  return count > start + hiddenTokensMax ? undefined : count;
}

/**
 * The system prompt that a log records for its path. If the log was read whole, it is the newest that applies. If it was
 * opened at a boundary, it is the newest in the part that was read; if that part has none, the head of the log is read
 * too, since other tools write the prompt there. What lies between the two stays unread, so a prompt that changed there
 * is not seen.
 */
async function findRecordedPrompt(
  source: ByteSource,
  { fold, scanned }: Pick<OpenedLog, "fold" | "scanned">,
): Promise<string | undefined> {
  if (scanned === undefined) return findSystemPrompt(fold.path);
  if (scanned.prompt !== undefined || fold.foreignUntil === 0) return scanned.prompt;
  const bytes = await source.read({ start: 0, end: Math.min(promptHeadBytes, fold.foreignUntil, scanned.start) });
  const { logged } = readLines({ bytes, start: 0, last: true });
  const line = logged.map(({ entry }) => entry).filter((entry) => entry.sidechain === fold.path.leaf?.sidechain);
  return openingPrompt(line);
}

/** A prompt before the first message applies to every branch. If there are several, only the whole path could tell which. */
function openingPrompt(head: readonly Entry[]): string | undefined {
  const firstMessage = head.findIndex(({ kind }) => kind === "user" || kind === "assistant");
  const opening = new Set(listPrompts(firstMessage === -1 ? head : head.slice(0, firstMessage)));
  const [prompt, ...others] = new Set(listPrompts(head));
  return prompt !== undefined && others.length === 0 && opening.has(prompt) ? prompt : undefined;
}

const listPrompts = (entries: readonly Entry[]): string[] =>
  entries.flatMap((entry) => (entry.kind === "other" ? (entry.systemPrompt ?? []) : []));

export interface ReadLogOptions extends Pick<OpenLogOptions, "line"> {
  /** Tells whether a tool's results may ever be cleared. If it is absent, no clear is planned and no inventory is kept. */
  readonly isClearable?: (tool: string) => boolean;
  /** What clearing a result has to save at least. */
  readonly residentTokensMin?: number | undefined;
  /** Counts one block. If it is absent, the counter's belief or an unpadded estimate is used. */
  readonly count?: ReceiptInput["count"];
  /** The caller's tokenizer. */
  readonly counter?: TextCounter | undefined;
  /** First read from the end of a log; by default the limit in `limits.ts`. */
  readonly tailBytes?: number;
}

/** Reads, folds and counts one of our logs. `undone`: edits to treat as undone. Undefined if there is no such log. */
export async function readLog(
  deps: TranscriptsDep & BlobsDep & ReadLogOptions,
  id: SessionId,
  undone?: ReadonlySet<EntryId>,
): Promise<CountedLog | undefined> {
  const { tailBytes, line, isClearable, residentTokensMin, counter } = deps;
  return withSource(deps, id, (source) =>
    openCounted(deps, { source, origin: "ours", line, counter, undone, tailBytes, isClearable, residentTokensMin }),
  );
}

/** Opens a transcript, reads from it and closes it. Undefined if there is no such transcript. */
export async function withSource<Result>(
  { transcripts }: TranscriptsDep,
  id: SessionId,
  read: (source: ByteSource) => Promise<Result>,
): Promise<Result | undefined> {
  const source = await transcripts.openForReading(id);
  if (source === undefined) return undefined;
  try {
    return await read(source);
  } finally {
    await source.close();
  }
}
