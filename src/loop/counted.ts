import type { BlobsDep } from "../ports/blobs.ts";
import type { ByteSource } from "../ports/transcripts.ts";
import type { Tokens } from "../schema/brand.ts";
import { Calibration } from "../tokens/calibration.ts";
import { type FixedPart, noFixedPart } from "../tokens/fixed-part.ts";
import { TokenLedger } from "../tokens/ledger.ts";
import { type AtOptions, type OpenedLog, openLog, openLogAt, type OpenOptions } from "./open.ts";
import { recordedPrompt } from "./recorded-prompt.ts";

/** A log, folded and counted in the same pass. */
export interface CountedLog extends OpenedLog {
  readonly ledger: TokenLedger;
  /** The model of the newest reply on the path. */
  readonly model: string | undefined;
  /** The window that the server declared with it. */
  readonly serverTokens: Tokens | undefined;
  /** What the log says that requests carry besides messages; the ledger knows it. */
  readonly fixedPart: FixedPart;
}

export async function openCounted(deps: BlobsDep, options: OpenOptions): Promise<CountedLog> {
  const ledger = new TokenLedger(new Calibration());
  return counted(await openLog(deps, { ...options, watch: ledger }), { ledger, source: options.source });
}

export async function openCountedAt(deps: BlobsDep, options: AtOptions): Promise<CountedLog | undefined> {
  const ledger = new TokenLedger(new Calibration());
  const log = await openLogAt(deps, { ...options, watch: ledger });
  return log === undefined ? undefined : counted(log, { ledger, source: options.source });
}

interface Counting {
  readonly ledger: TokenLedger;
  readonly source: ByteSource;
}

async function counted(log: OpenedLog, { ledger, source }: Counting): Promise<CountedLog> {
  const prompt = await recordedPrompt(source, log);
  const fixedPart = prompt === undefined ? noFixedPart : { ...noFixedPart, systemPrompts: [prompt] };
  ledger.carries(fixedPart);
  const newest = log.fold.path.entries.findLast((entry) => entry.kind === "assistant" && !entry.synthetic);
  const reply = newest?.kind === "assistant" ? newest : undefined;
  return { ...log, ledger, model: reply?.model, serverTokens: reply?.usage?.window, fixedPart };
}
