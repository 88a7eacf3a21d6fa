import { Inventory } from "../cache/inventory.ts";
import { markerTokens } from "../layers/2-clear/limits.ts";
import type { BlobsDep } from "../ports/blobs.ts";
import type { ByteSource } from "../ports/transcripts.ts";
import { tokens, type Tokens } from "../schema/brand.ts";
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

/** A log, folded and counted in the same pass. */
export interface CountedLog extends OpenedLog {
  readonly ledger: ContextLedger;
  /** What could be cleared; kept only where `isClearable` says of which tools. */
  readonly inventory: Inventory | undefined;
  /** The model of the newest reply on the path, or of before the boundary that it begins with. */
  readonly model: string | undefined;
  /** The window that the server declared with it. */
  readonly serverTokens: Tokens | undefined;
  /** The largest context that the provider counted for that model, as far as the log was read; 0 where it counted none. */
  readonly recordedTokens: Tokens;
  /** What the log says that requests carry besides messages; the ledger knows it. */
  readonly fixedPart: FixedPart;
}

interface CountedLogOptions extends OpenLogOptions {
  readonly isClearable?: (tool: string) => boolean;
  /** A tokenizer of the caller's. */
  readonly counter?: TextCounter | undefined;
}

export async function openCounted(
  deps: BlobsDep,
  { isClearable, counter, ...options }: CountedLogOptions,
): Promise<CountedLog> {
  const log = await openLog(deps, options);
  const count = counter?.believedBlock ?? estimateBlock;
  const inventory = isClearable === undefined ? undefined : new Inventory({ count, isClearable, markerTokens });
  return countLog(deps, { log, inventory, counter, source: options.source });
}

export async function openCountedAt(deps: BlobsDep, options: OpenLogAtOptions): Promise<CountedLog | undefined> {
  const log = await openLogAt(deps, options);
  return log === undefined ? undefined : countLog(deps, { log, source: options.source });
}

/** What is known before the first count comes first: what a count teaches hangs on it. */
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

/** As the newest boundary in force has it; logs of older versions say only what the fixed part was. */
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
  /** That the server declared. */
  readonly window?: Tokens;
}

/** The largest context that was counted for the model that answered last: as the path shows it, or a boundary passes it on. */
export function findLargestCount(fold: Fold): LargestCount | undefined {
  const passedOn = boundaryCounts(fold);
  const model = newestReply(fold)?.model ?? passedOn.at(-1)?.model;
  if (model === undefined) return undefined;
  const before = passedOn.flatMap((count) => (count.model === model ? [count.tokens] : []));
  const behind = fold.path.logged.flatMap((logged) =>
    logged.entry.kind === "assistant" && logged.entry.model === model ? (plausibleCount(fold, logged) ?? []) : [],
  );
  const window = newestReply(fold)?.usage?.window ?? passedOn.findLast((count) => count.model === model)?.window;
  return {
    model,
    tokens: tokens([...before, ...behind].reduce((most, count) => Math.max(most, count), 0)),
    ...(window === undefined ? {} : { window: tokens(window) }),
  };
}

const boundaryCounts = ({
  projection,
}: Fold): readonly { readonly model: string; readonly tokens: number; readonly window?: number | undefined }[] =>
  projection.boundaries.flatMap(({ edit }) => (edit.type === "boundary" ? (edit.metadata.counted ?? []) : []));

/** Undefined where there is none, or none that can be: what a log holds has no more tokens than bytes. */
function plausibleCount({ foreignUntil }: Fold, { entry, start }: LoggedEntry): Tokens | undefined {
  if (entry.kind !== "assistant" || entry.usage === undefined) return undefined;
  const besides = start < foreignUntil ? believedFragmentTokensMax : believedHiddenTokensMax;
  const count = contextTokens(entry.usage);
  return count > start + besides ? undefined : count;
}

/**
 * The system prompt that a log records for its path: of a log that was read whole the newest that applies. Of one that
 * was opened at a boundary it is the newest in what was read; where that holds none, there is one more look, at the
 * head alone, since that is where other tools write it. What lies between the two stays unread, so a prompt that
 * changed there is not seen.
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

/** What stands before the first message applies to every branch; of several prompts only the whole path could tell which. */
function openingPrompt(head: readonly Entry[]): string | undefined {
  const firstSaid = head.findIndex(({ kind }) => kind === "user" || kind === "assistant");
  const opening = new Set(listPrompts(firstSaid === -1 ? head : head.slice(0, firstSaid)));
  const [prompt, ...others] = new Set(listPrompts(head));
  return prompt !== undefined && others.length === 0 && opening.has(prompt) ? prompt : undefined;
}

const listPrompts = (entries: readonly Entry[]): string[] =>
  entries.flatMap((entry) => (entry.kind === "other" ? (entry.systemPrompt ?? []) : []));
