import {
  addSums,
  type BackgroundBudget,
  budgetStart,
  type BudgetVerdict,
  checkBudget,
  dropDaysBefore,
  noSpend,
  readBudget,
  type SpendEntry,
  spendDay,
  type SpendSums,
  sumSpend,
} from "../cache/background-budget.ts";
import { type CostLedger, type CostSource, costSources } from "../cache/cost-ledger.ts";
import type { ClockDep } from "../ports/clock-dep.ts";
import type { SpendLog } from "../ports/spend-log.ts";
import { type Millis, millis, type NanoUsd, nanoUsd } from "../schema/brand.ts";
import { spendFreshMs } from "./limits.ts";

interface BackgroundSpendInput {
  /** The session's. What it holds already was paid before and is in the log. */
  readonly costs: CostLedger;
  /** Absent: only the session's own costs count, those of its past included. */
  readonly log?: SpendLog | undefined;
  /** Called at most once, with a message for the user. */
  readonly onPaused?: ((message: string) => void) | undefined;
}

/**
 * What a session pays goes to the project's spend log, and background work asks here before it starts. No turn waits for
 * the log: while one write is under way, the costs of each source are put together for the next.
 */
export class BackgroundSpend {
  readonly #deps: ClockDep;
  readonly #log: SpendLog | undefined;
  readonly #onPaused: ((message: string) => void) | undefined;
  /** From before, without their days; none if the log has them. */
  readonly #earlier: SpendSums;
  /** What this session has paid since it was opened. */
  #paid: SpendSums = noSpend;
  /** What it has paid since the log was read last. */
  #paidSinceRead: SpendSums = noSpend;
  #read: { readonly sums: SpendSums; readonly at: Millis } | undefined;
  readonly #unwritten = new Map<string, SpendEntry>();
  /** Writes and reads of the log, one after the other, so that a read has all that was paid before it and nothing since. */
  #work: Promise<void> = Promise.resolve();
  #refreshed: Promise<void> | undefined;
  #hasTold = false;

  constructor(deps: ClockDep, { costs, log, onPaused }: BackgroundSpendInput) {
    this.#deps = deps;
    this.#log = log;
    this.#onPaused = onPaused;
    this.#earlier = log === undefined ? sumLedger(costs) : noSpend;
    costs.onPaid(({ source, totalNanos }) => this.#add(source, totalNanos));
  }

  /** To be asked before each piece of background work. Reads the log at most once a minute. Must not reject. */
  async mayStart(estimateNanos: NanoUsd): Promise<BudgetVerdict> {
    const verdict = checkBudget({ spent: await this.#spent(), estimateNanos, now: this.#deps.now() });
    if (verdict.kind === "over" && !this.#hasTold) {
      this.#hasTold = true;
      this.#onPaused?.(verdict.message);
    }
    return verdict;
  }

  /** To show it; undefined if no log knows what other sessions have paid. Must not reject. */
  async budget(): Promise<BackgroundBudget | undefined> {
    return this.#log === undefined ? undefined : readBudget({ spent: await this.#spent(), now: this.#deps.now() });
  }

  /** Resolves when all that was paid so far is written, or lost if the disk refuses. Must not reject. */
  async flush(): Promise<void> {
    await this.#work;
  }

  #add(source: CostSource, nanos: NanoUsd): void {
    // A model without a known price.
    if (nanos <= 0) return;
    const entry: SpendEntry = { at: this.#deps.now(), source, nanos };
    this.#paid = sumSpend([entry], this.#paid);
    if (this.#log === undefined) return;
    this.#paidSinceRead = sumSpend([entry], this.#paidSinceRead);
    const key = `${spendDay(entry.at)} ${source}`;
    const isFirst = this.#unwritten.size === 0;
    this.#unwritten.set(key, { ...entry, nanos: nanoUsd(nanos + (this.#unwritten.get(key)?.nanos ?? 0)) });
    if (isFirst) void this.#enqueue((log) => this.#write(log));
  }

  async #spent(): Promise<SpendSums> {
    const now = this.#deps.now();
    const isFresh = this.#read !== undefined && Math.abs(now - this.#read.at) < spendFreshMs;
    if (this.#log !== undefined && !isFresh) await this.#refresh(now);
    const paid = addSums(this.#earlier, dropDaysBefore(this.#paid, budgetStart(now)));
    const known = addSums(this.#read?.sums ?? noSpend, this.#paidSinceRead);
    // If the log could not be written, it knows less than this session.
    return paid.backgroundNanos > known.backgroundNanos ? paid : known;
  }

  #refresh(now: Millis): Promise<void> {
    this.#refreshed ??= this.#enqueue(async (log) => {
      await this.#write(log);
      this.#paidSinceRead = sumSpend(this.#unwritten.values());
      this.#read = { sums: await log.since(budgetStart(now)), at: now };
    }).finally(() => {
      this.#refreshed = undefined;
    });
    return this.#refreshed;
  }

  async #write(log: SpendLog): Promise<void> {
    while (this.#unwritten.size > 0) {
      const entries = [...this.#unwritten.values()];
      this.#unwritten.clear();
      for (const entry of entries) await log.add(entry);
    }
  }

  #enqueue(act: (log: SpendLog) => Promise<void>): Promise<void> {
    const log = this.#log;
    // A store of the caller's own may break the port's contract; that must not end the session.
    if (log !== undefined) this.#work = this.#work.then(() => act(log)).catch(() => undefined);
    return this.#work;
  }
}

/** Sums without days. */
function sumLedger(costs: CostLedger): SpendSums {
  const { bySource } = costs.toJSON();
  const entries = costSources.map((source) => {
    return { at: millis(0), source, nanos: bySource[source]?.totalNanos ?? nanoUsd(0) };
  });
  return { ...sumSpend(entries), byDay: new Map() };
}
