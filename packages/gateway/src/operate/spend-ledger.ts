import { join } from "node:path";
import { makeFolder, readSmallFile, replaceFile } from "palimpsest/internal/store/files/disk";
import { tryParseJson } from "palimpsest/internal/schema/json";
import { z } from "zod";
import { spendBytesMax, spendDaysKept, spendWriteMs } from "./limits.ts";
import type { SpendToday } from "./users.ts";

/** By UTC day and user. A number alone: all prices were known. */
const ledgerForm = z.record(
  z.string().regex(/^\d{4}-\d{2}-\d{2}$/),
  z.record(
    z.string(),
    z.union([z.number().nonnegative(), z.object({ nanos: z.number().nonnegative(), unpriced: z.int().nonnegative() })]),
  ),
);

interface DaySpend {
  /** Billionths of a dollar. */
  readonly nanos: number;
  /** Replies whose price is not known. */
  readonly unpriced: number;
}

export interface SpendLedgerOptions {
  readonly folder: string;
  /** Milliseconds. */
  readonly now: () => number;
  readonly onError: (error: unknown) => void;
}

/**
 * What each user has spent, by day:
 *
 *   <folder>/spend.json    {"2026-11-17":{"ada":8550000,"eve":{"nanos":0,"unpriced":3}}}
 *
 * Only one process writes it, because a gateway locks the folder. Written a moment after a change and on close.
 */
export class SpendLedger implements SpendToday {
  readonly #options: SpendLedgerOptions;
  readonly #spendByDay: Map<string, Map<string, DaySpend>>;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  private constructor(options: SpendLedgerOptions, spendByDay: Map<string, Map<string, DaySpend>>) {
    this.#options = options;
    this.#spendByDay = spendByDay;
  }

  /** A damaged file is kept as `spend.json.damaged`. */
  static async open(options: SpendLedgerOptions): Promise<SpendLedger> {
    const path = ledgerPath(options.folder);
    const text = await readSmallFile(path, spendBytesMax);
    const read = text === undefined ? undefined : ledgerForm.safeParse(tryParseJson(text));
    if (text !== undefined && read?.success !== true)
      await replaceFile({ path: `${path}.damaged`, data: Buffer.from(text), sync: "synced" }).catch(options.onError);
    const days = Object.entries(read?.data ?? {}).map(([day, spendByUser]) => {
      const spends = Object.entries(spendByUser).map(
        ([user, spend]) => [user, typeof spend === "number" ? { nanos: spend, unpriced: 0 } : spend] as const,
      );
      return [day, new Map(spends)] as const;
    });
    return new SpendLedger(options, new Map(days));
  }

  /** Null: a reply whose price is not known. */
  charge(user: string, nanos: number | null): void {
    const day = utcDay(this.#options.now());
    const spends = this.#spendByDay.get(day) ?? new Map<string, DaySpend>();
    const before = spends.get(user) ?? noSpend;
    const after =
      nanos === null ? { ...before, unpriced: before.unpriced + 1 } : { ...before, nanos: before.nanos + nanos };
    this.#spendByDay.set(day, spends.set(user, after));
    this.#timer ??= setTimeout(() => void this.#write(), spendWriteMs).unref();
  }

  usdToday(user: string): number {
    return this.#today(user).nanos / 1e9;
  }

  unpricedToday(user: string): number {
    return this.#today(user).unpriced;
  }

  async close(): Promise<void> {
    if (this.#timer !== undefined) await this.#write();
    await this.#writing;
  }

  #today(user: string): DaySpend {
    return this.#spendByDay.get(utcDay(this.#options.now()))?.get(user) ?? noSpend;
  }

  #write(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = this.#writing.then(() => this.#save()).catch(this.#options.onError);
    return this.#writing;
  }

  async #save(): Promise<void> {
    const days = [...this.#spendByDay.keys()].toSorted();
    for (const day of days.slice(0, -spendDaysKept)) this.#spendByDay.delete(day);
    const ledger = Object.fromEntries(
      [...this.#spendByDay].map(([day, spends]) => [
        day,
        Object.fromEntries([...spends].map(([user, spend]) => [user, spend.unpriced === 0 ? spend.nanos : spend])),
      ]),
    );
    await makeFolder(this.#options.folder);
    await replaceFile({
      path: ledgerPath(this.#options.folder),
      data: Buffer.from(`${JSON.stringify(ledger)}\n`),
      sync: "synced",
    });
  }
}

const noSpend: DaySpend = { nanos: 0, unpriced: 0 };

const ledgerPath = (folder: string): string => join(folder, "spend.json");

const utcDay = (now: number): string => new Date(now).toISOString().slice(0, 10);
