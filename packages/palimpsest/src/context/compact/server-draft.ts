import { besideSummary, type BesideInput, summaryMessage } from "../../layers/4-compact/summary-message.ts";
import type { BoundaryInput } from "../../session/boundary.ts";
import type { ServerSummarised } from "./server-call.ts";

export interface ServerDraftInput extends BesideInput {
  readonly summarised: Extract<ServerSummarised, { kind: "block" }>;
  /** The person's messages; blank where there are none to quote. */
  readonly ledger: string;
}

/** What a boundary writes of a summary that the provider wrote: its block, its text for any other model, and ours beside both. */
export function serverSummaryDraft(input: ServerDraftInput): Required<Pick<BoundaryInput, "summary" | "server">> {
  const { summarised, ledger, ...beside } = input;
  const { model, block, text } = summarised;
  return {
    // Where to go on from is said beside it.
    summary: summaryMessage({ summary: text, trigger: "manual" }),
    server: { model, block, beside: [besideSummary(beside), ledger].filter((part) => part !== "").join("\n\n") },
  };
}
