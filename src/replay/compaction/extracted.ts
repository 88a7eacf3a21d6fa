import { type CompactSize, compactSizeStandIn } from "../../cache/compact-price.ts";
import {
  budgetsOf,
  type CompactionBudgets,
  restoringWithin,
  waitingTokensMax,
} from "../../layers/4-compact/budgets.ts";
import { composeSummary } from "../../layers/4-compact/compose.ts";
import { extractSummary } from "../../layers/4-compact/extract.ts";
import { FactBook } from "../../layers/4-compact/fact-book.ts";
import { factsOfPart } from "../../layers/4-compact/part-facts.ts";
import { planRestoration } from "../../layers/4-compact/restore.ts";
import { summaryMessage } from "../../layers/4-compact/summary-message.ts";
import type { Block } from "../../schema/block.ts";
import { type EntryId, tokens, type Tokens } from "../../schema/brand.ts";
import type { Entry } from "../../schema/entry.ts";
import type { Item } from "../../transcript/item.ts";
import { transcriptPathStandIn } from "../limits.ts";
import type { ReplayedView } from "../replayed-view.ts";
import type { Compacted, Compactions, CompactionsInput } from "./compactions.ts";
import { KnownFiles } from "./known-files.ts";

/**
 * Real ones, with the extractive summary in place of a model's: what the engine would write behind a boundary from the
 * facts of the recording, under the policy's rules and the window's budgets. What waits for its answer stays.
 */
export class ExtractedCompactions implements Compactions {
  readonly #input: CompactionsInput;
  readonly #facts = new FactBook();
  readonly #files = new KnownFiles();
  #previousSummary: string | undefined;
  size: CompactSize;

  constructor(input: CompactionsInput) {
    this.#input = input;
    const restores = input.policy.compact?.restores ?? "nothing";
    this.size = compactSizeStandIn({ restores, windowTokens: input.thresholds.window });
  }

  keptTokens(view: ReplayedView): number {
    return this.#tokensOf(this.#scope(view)?.kept ?? []);
  }

  heard(entries: readonly Entry[]): void {
    for (const entry of entries) {
      this.#facts.append(entry);
      this.#files.heard(entry);
    }
  }

  make(view: ReplayedView): Compacted | undefined {
    const scope = this.#scope(view);
    if (scope === undefined) return undefined;
    const { policy, thresholds, world } = this.#input;
    const staysTokens = world.recording.headerTokens + this.#tokensOf(scope.kept);
    const budgets = budgetsOf({ thresholds, policy, staysTokens });
    const kept = scope.kept.map(({ entry }) => entry);
    const { text, outputTokens } = this.#summary(budgets, new Set(kept));
    const restored = this.#restored(Math.min(budgets.restored, budgets.room - this.#count(text)));
    const summary = [text, ...restored].map((one): Block => ({ type: "text", text: one }));
    const leavesTokens = summary.reduce((sum, block) => sum + world.tokensOf(block), 0);
    this.size = { outputTokens, leavesTokens };
    this.#previousSummary = text;
    return { summary, kept, outputTokens };
  }

  #summary(budgets: CompactionBudgets, shown: ReadonlySet<EntryId>): { text: string; outputTokens: number } {
    const rule = this.#input.policy.summary;
    const count = this.#count;
    const whole = this.#facts.facts();
    const facts = factsOfPart(whole, { holds: (entry) => !shown.has(entry), lastReply: whole.lastReply });
    const summary = extractSummary({
      facts,
      budgetTokens: budgets.extract,
      count,
      previousSummary: this.#previousSummary,
      messages: rule?.userMessages === undefined ? "inside" : "beside",
    });
    const { ledger, repaired } = composeSummary({ summary, facts, shown, budgets, rule, count });
    const said = summaryMessage({
      summary: repaired(summary),
      trigger: "auto",
      ...(rule?.transcriptPath === "told" ? { transcriptPath: transcriptPathStandIn } : {}),
    });
    return { text: ledger.text === "" ? said : `${said}\n\n${ledger.text}`, outputTokens: count(summary) };
  }

  #restored(roomTokens: number): readonly string[] {
    const { policy, thresholds } = this.#input;
    const { pieces } = this.#files;
    if (policy.compact?.restores !== "files" || pieces.length === 0) return [];
    const budgets = restoringWithin(thresholds, { policy, roomTokens });
    const part = { kind: "state", pieces, budget: budgets.files } as const;
    const parts = [{ name: "files", part }];
    const { told } = planRestoration({ parts, tokensMax: budgets.tokensMax, count: this.#count });
    return told.map(({ text }) => text);
  }

  #scope(view: ReplayedView): { readonly kept: readonly Item[] } | undefined {
    return view.scope(waitingTokensMax(this.#input.thresholds));
  }

  readonly #count = (text: string): Tokens => tokens(this.#input.world.tokensOf({ type: "text", text }));

  #tokensOf(items: readonly Item[]): number {
    const { tokensOf } = this.#input.world;
    return items.reduce((sum, { blocks }) => blocks.reduce((so, block) => so + tokensOf(block), sum), 0);
  }
}
