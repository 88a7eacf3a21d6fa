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
import { type NamedPart, planRestoration } from "../../layers/4-compact/restore.ts";
import { summaryMessage } from "../../layers/4-compact/summary-message.ts";
import type { Block, Message } from "../../schema/block.ts";
import { type EntryId, tokens, type Tokens } from "../../schema/brand.ts";
import type { Entry } from "../../schema/entry.ts";
import type { PartBudget, RestoredPiece } from "../../schema/working-state.ts";
import type { Item } from "../../transcript/item.ts";
import { transcriptPathStandIn } from "../limits.ts";
import type { ReplayedView } from "../replayed-view.ts";
import type { Compacted, Compactions, CompactionsInput, LastCompaction, NotedPart } from "./compactions.ts";
import { KnownFiles } from "./known-files.ts";

/**
 * Real ones, with the extractive summary in place of a model's: what the engine would write behind a boundary from the
 * facts of the recording, under the policy's rules and the window's budgets. What waits for its answer stays.
 */
export class ExtractedCompactions implements Compactions {
  readonly #input: CompactionsInput;
  readonly #facts = new FactBook();
  readonly #files = new KnownFiles();
  #last: LastCompaction | undefined;
  #newest: EntryId | undefined;
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
      this.#newest = entry.id;
    }
  }

  make(view: ReplayedView, noted?: NotedPart): Compacted | undefined {
    const scope = noted ?? this.#scope(view);
    if (scope === undefined) return undefined;
    const { policy, thresholds, world } = this.#input;
    const staysTokens = world.recording.headerTokens + this.#tokensOf(scope.kept);
    const budgets = budgetsOf({ thresholds, policy, staysTokens });
    const kept = scope.kept.map(({ entry }) => entry);
    // Notes are as good as the summaries of all, of what they stand for.
    const messages = noted === undefined ? (view.next() ?? []) : view.messagesWithout(kept);
    const { text, body, outputTokens } = this.#summary(budgets, { shown: new Set(kept), messages });
    const restored = this.#restored(Math.min(budgets.restored, budgets.room - this.#count(text)));
    const summary = [text, ...restored].map((one): Block => ({ type: "text", text: one }));
    const leavesTokens = summary.reduce((sum, block) => sum + world.tokensOf(block), 0);
    this.size = { outputTokens: noted === undefined ? outputTokens : this.size.outputTokens, leavesTokens };
    this.#last = { summary: body, summaryText: text, texts: new Set([text, ...restored]) };
    return { summary, kept, outputTokens: noted === undefined ? outputTokens : 0 };
  }

  #summary(budgets: CompactionBudgets, { shown, messages }: Summarised): Summary {
    const { policy, summarise } = this.#input;
    const rule = policy.summary;
    const count = this.#count;
    const whole = this.#facts.facts();
    const facts = factsOfPart(whole, { holds: (entry) => !shown.has(entry), lastReply: whole.lastReply });
    const summary =
      summarise?.({ messages, last: this.#last, newest: this.#newest }) ??
      extractSummary({
        facts,
        budgetTokens: budgets.extract,
        count,
        previousSummary: this.#last?.summaryText,
        messages: rule?.userMessages === undefined ? "inside" : "beside",
      });
    const { ledger, repaired } = composeSummary({ summary, facts, shown, budgets, rule, count });
    const body = repaired(summary);
    const said = summaryMessage({
      summary: body,
      trigger: "auto",
      ...(rule?.transcriptPath === "told" ? { transcriptPath: transcriptPathStandIn } : {}),
    });
    return { text: ledger.text === "" ? said : `${said}\n\n${ledger.text}`, body, outputTokens: count(summary) };
  }

  #restored(roomTokens: number): readonly string[] {
    const { policy, thresholds } = this.#input;
    const budgets = restoringWithin(thresholds, { policy, roomTokens });
    const parts = [
      ...this.#todosPart(budgets.other),
      ...(policy.compact?.restores === "files"
        ? partOf("files", { pieces: this.#files.pieces, budget: budgets.files })
        : []),
    ];
    const { told } = planRestoration({ parts, tokensMax: budgets.tokensMax, count: this.#count });
    return told.map(({ text }) => text);
  }

  #todosPart(budget: PartBudget): readonly NamedPart[] {
    if (this.#input.policy.summary?.restored.others.includes("todos") !== true) return [];
    const open = this.#facts.facts().openTodos;
    const text = open.map((todo) => `- ${todo.text} (${todo.status})`).join("\n");
    const piece = { title: "todo list", intro: "What is still to be done:", text, handle: "keep it up to date" };
    return open.length === 0 ? [] : partOf("todos", { pieces: [piece], budget });
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

const partOf = (name: string, { pieces, budget }: State): readonly NamedPart[] =>
  pieces.length === 0 ? [] : [{ name, part: { kind: "state", pieces, budget } }];

interface State {
  readonly pieces: readonly RestoredPiece[];
  readonly budget: PartBudget;
}

interface Summarised {
  /** Entries that stay in the view as they are. */
  readonly shown: ReadonlySet<EntryId>;
  readonly messages: readonly Message[];
}

interface Summary {
  /** As the view shows it, the ledger included. */
  readonly text: string;
  /** The summary alone, repaired. */
  readonly body: string;
  readonly outputTokens: number;
}
