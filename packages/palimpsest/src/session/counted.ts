import { Inventory } from "../cache/inventory.ts";
import { markerTokens } from "../layers/2-clear/limits.ts";
import type { BlobsDep } from "../ports/blobs.ts";
import type { ByteSource } from "../ports/transcripts.ts";
import { tokens, type Tokens } from "../schema/brand.ts";
import type { AssistantEntry } from "../schema/entry.ts";
import { contextTokens } from "../schema/usage.ts";
import { type FixedPart, noFixedPart } from "../tokens/fixed-part.ts";
import { estimateBlock } from "../tokens/estimate.ts";
import { believedFragmentTokensMax, believedHiddenTokensMax } from "../tokens/limits.ts";
import type { LearnedState } from "../tokens/learned.ts";
import { type ContextLedger, TokenLedger } from "../tokens/ledger.ts";
import type { TextCounter } from "../tokens/text-counter.ts";
import type { Fold } from "../transcript/fold.ts";
import type { Logged } from "../transcript/lines.ts";
import { bothWatches } from "../transcript/watch.ts";
import { frozenFixedPart } from "./frozen-state.ts";
import { type AtOptions, type OpenedLog, openLog, openLogAt, type OpenOptions } from "./open.ts";
import { recordedPrompt } from "./recorded-prompt.ts";

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

export interface CountedOptions extends OpenOptions {
  readonly isClearable?: (tool: string) => boolean;
  /** A tokenizer of the caller's. */
  readonly counter?: TextCounter | undefined;
}

export async function openCounted(
  deps: BlobsDep,
  { isClearable, counter, ...options }: CountedOptions,
): Promise<CountedLog> {
  const log = await openLog(deps, options);
  const count = counter?.believedBlock ?? estimateBlock;
  const inventory = isClearable === undefined ? undefined : new Inventory({ count, isClearable, markerTokens });
  return counted(deps, { log, inventory, counter, source: options.source });
}

export async function openCountedAt(deps: BlobsDep, options: AtOptions): Promise<CountedLog | undefined> {
  const log = await openLogAt(deps, options);
  return log === undefined ? undefined : counted(deps, { log, source: options.source });
}

interface Counting {
  readonly log: OpenedLog;
  readonly inventory?: Inventory | undefined;
  readonly counter?: TextCounter | undefined;
  readonly source: ByteSource;
}

/** What is known before the first count comes first: what a count teaches hangs on it. */
async function counted(deps: BlobsDep, { log, inventory, counter, source }: Counting): Promise<CountedLog> {
  const ours = await frozenFixedPart(deps, log.fold);
  const fixedPart = ours ?? (await recordedPart(source, log));
  const ledger = new TokenLedger({ learned: learnedAtBoundary(log.fold), counter });
  ledger.carries(fixedPart);
  if (ours !== undefined) ledger.sendsOwn();
  log.fold.watchedBy(inventory === undefined ? ledger : bothWatches(ledger, inventory));
  const largest = largestCounted(log.fold);
  const model = newestReply(log.fold)?.model ?? largest?.model;
  const serverTokens = largest?.window;
  return { ...log, ledger, inventory, model, serverTokens, recordedTokens: largest?.tokens ?? tokens(0), fixedPart };
}

/** As the newest boundary in force has it; logs of older versions say only what the fixed part was. */
function learnedAtBoundary({ projection }: Fold): LearnedState {
  const edit = projection.boundaries.at(-1)?.edit;
  if (edit?.type !== "boundary") return {};
  const { learned, fixedTokens, counted: count } = edit.metadata;
  const model = learned?.model ?? count?.model;
  if (learned !== undefined) return { ...learned, model };
  return fixedTokens === undefined ? {} : { model, request: { tokens: fixedTokens, bytes: {} } };
}

async function recordedPart(source: ByteSource, log: OpenedLog): Promise<FixedPart> {
  const prompt = await recordedPrompt(source, log);
  return prompt === undefined ? noFixedPart : { ...noFixedPart, systemPrompts: [prompt] };
}

function newestReply({ path }: Fold): AssistantEntry | undefined {
  const newest = path.entries.findLast((entry) => entry.kind === "assistant" && !entry.synthetic);
  return newest?.kind === "assistant" ? newest : undefined;
}

export interface LargestCounted {
  readonly model: string;
  readonly tokens: Tokens;
  /** That the server declared. */
  readonly window?: Tokens;
}

/** The largest context that was counted for the model that answered last: as the path shows it, or a boundary passes it on. */
export function largestCounted(fold: Fold): LargestCounted | undefined {
  const passedOn = countedBefore(fold);
  const model = newestReply(fold)?.model ?? passedOn.at(-1)?.model;
  if (model === undefined) return undefined;
  const before = passedOn.flatMap((count) => (count.model === model ? [count.tokens] : []));
  const behind = fold.path.logged.flatMap((logged) =>
    logged.entry.kind === "assistant" && logged.entry.model === model ? (believedCount(fold, logged) ?? []) : [],
  );
  const window = newestReply(fold)?.usage?.window ?? passedOn.findLast((count) => count.model === model)?.window;
  return {
    model,
    tokens: tokens([...before, ...behind].reduce((most, count) => Math.max(most, count), 0)),
    ...(window === undefined ? {} : { window: tokens(window) }),
  };
}

const countedBefore = ({
  projection,
}: Fold): readonly { readonly model: string; readonly tokens: number; readonly window?: number | undefined }[] =>
  projection.boundaries.flatMap(({ edit }) => (edit.type === "boundary" ? (edit.metadata.counted ?? []) : []));

/** Undefined where there is none, or none that can be: what a log holds has no more tokens than bytes. */
function believedCount({ foreignUntil }: Fold, { entry, start }: Logged): Tokens | undefined {
  if (entry.kind !== "assistant" || entry.usage === undefined) return undefined;
  const besides = start < foreignUntil ? believedFragmentTokensMax : believedHiddenTokensMax;
  const count = contextTokens(entry.usage);
  return count > start + besides ? undefined : count;
}
