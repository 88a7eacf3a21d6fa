import type { BlobsDep } from "../ports/blobs.ts";
import type { ByteSource } from "../ports/transcripts.ts";
import { tokens, type Tokens } from "../schema/brand.ts";
import type { Entry } from "../schema/entry.ts";
import { contextTokens } from "../schema/usage.ts";
import { Calibration } from "../tokens/calibration.ts";
import { type FixedPart, noFixedPart } from "../tokens/fixed-part.ts";
import { TokenLedger } from "../tokens/ledger.ts";
import { frozenFixedPart } from "./frozen-state.ts";
import { type AtOptions, type OpenedLog, openLog, openLogAt, type OpenOptions } from "./open.ts";
import { recordedPrompt } from "./recorded-prompt.ts";

/** A log, folded and counted in the same pass. */
export interface CountedLog extends OpenedLog {
  readonly ledger: TokenLedger;
  /** The model of the newest reply on the path. */
  readonly model: string | undefined;
  /** The window that the server declared with it. */
  readonly serverTokens: Tokens | undefined;
  /** The largest context that the provider counted for that model, as far as the log was read; 0 where it counted none. */
  readonly recordedTokens: Tokens;
  /** What the log says that requests carry besides messages; the ledger knows it. */
  readonly fixedPart: FixedPart;
}

export async function openCounted(deps: BlobsDep, options: OpenOptions): Promise<CountedLog> {
  const ledger = new TokenLedger(new Calibration());
  return counted(deps, { ledger, log: await openLog(deps, { ...options, watch: ledger }), source: options.source });
}

export async function openCountedAt(deps: BlobsDep, options: AtOptions): Promise<CountedLog | undefined> {
  const ledger = new TokenLedger(new Calibration());
  const log = await openLogAt(deps, { ...options, watch: ledger });
  return log === undefined ? undefined : counted(deps, { ledger, log, source: options.source });
}

interface Counting {
  readonly log: OpenedLog;
  readonly ledger: TokenLedger;
  readonly source: ByteSource;
}

async function counted(deps: BlobsDep, { log, ledger, source }: Counting): Promise<CountedLog> {
  const fixedPart = (await frozenFixedPart(deps, log.fold)) ?? (await recordedPart(source, log));
  ledger.carries(fixedPart);
  const newest = log.fold.path.entries.findLast((entry) => entry.kind === "assistant" && !entry.synthetic);
  const reply = newest?.kind === "assistant" ? newest : undefined;
  const model = reply?.model;
  const recordedTokens = largestRecorded(log.fold.path.entries, model);
  return { ...log, ledger, model, serverTokens: reply?.usage?.window, recordedTokens, fixedPart };
}

async function recordedPart(source: ByteSource, log: OpenedLog): Promise<FixedPart> {
  const prompt = await recordedPrompt(source, log);
  return prompt === undefined ? noFixedPart : { ...noFixedPart, systemPrompts: [prompt] };
}

const largestRecorded = (path: readonly Entry[], model: string | undefined): Tokens =>
  path.reduce(
    (largest, entry) =>
      entry.kind === "assistant" && entry.model === model && entry.usage !== undefined
        ? tokens(Math.max(largest, contextTokens(entry.usage)))
        : largest,
    tokens(0),
  );
