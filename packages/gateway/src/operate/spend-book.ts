import { join } from "node:path";
import { makeFolder, readSmallFile, replaceFile } from "palimpsest/internal/store/files/disk";
import { tryParseJson } from "palimpsest/internal/schema/json";
import { z } from "zod";
import { configBytesMax, spendDaysKept, spendWriteMs } from "./limits.ts";
import type { SpendToday } from "./users.ts";

/** Billionths of a dollar, by UTC day and user. */
const bookForm = z.record(z.string().regex(/^\d{4}-\d{2}-\d{2}$/), z.record(z.string(), z.number().nonnegative()));

export interface SpendBookOptions {
  readonly folder: string;
  /** Milliseconds. */
  readonly now: () => number;
  readonly onError: (error: unknown) => void;
}

/**
 * What each user has spent, by day:
 *
 *   <folder>/spend.json    {"2026-11-17":{"ada":8550000}}
 *
 * One process writes it, for a gateway holds the folder's lock. Written a moment after a change and at the end.
 */
export class SpendBook implements SpendToday {
  readonly #options: SpendBookOptions;
  readonly #nanosByDay: Map<string, Map<string, number>>;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  private constructor(options: SpendBookOptions, nanosByDay: Map<string, Map<string, number>>) {
    this.#options = options;
    this.#nanosByDay = nanosByDay;
  }

  /** A damaged book is kept beside the new one. */
  static async open(options: SpendBookOptions): Promise<SpendBook> {
    const path = bookPath(options.folder);
    const text = await readSmallFile(path, configBytesMax * 16);
    const read = text === undefined ? undefined : bookForm.safeParse(tryParseJson(text));
    if (text !== undefined && read?.success !== true)
      await replaceFile({ path: `${path}.damaged`, data: Buffer.from(text), sync: "synced" }).catch(options.onError);
    const days = Object.entries(read?.data ?? {});
    return new SpendBook(options, new Map(days.map(([day, spent]) => [day, new Map(Object.entries(spent))])));
  }

  charge(user: string, nanos: number): void {
    const day = utcDay(this.#options.now());
    const spent = this.#nanosByDay.get(day) ?? new Map<string, number>();
    this.#nanosByDay.set(day, spent.set(user, (spent.get(user) ?? 0) + nanos));
    this.#timer ??= setTimeout(() => void this.#write(), spendWriteMs).unref();
  }

  usdToday(user: string): number {
    return (this.#nanosByDay.get(utcDay(this.#options.now()))?.get(user) ?? 0) / 1e9;
  }

  async close(): Promise<void> {
    if (this.#timer !== undefined) await this.#write();
    await this.#writing;
  }

  #write(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = this.#writing.then(() => this.#save()).catch(this.#options.onError);
    return this.#writing;
  }

  async #save(): Promise<void> {
    const days = [...this.#nanosByDay.keys()].toSorted();
    for (const day of days.slice(0, -spendDaysKept)) this.#nanosByDay.delete(day);
    const book = Object.fromEntries([...this.#nanosByDay].map(([day, spent]) => [day, Object.fromEntries(spent)]));
    await makeFolder(this.#options.folder);
    await replaceFile({
      path: bookPath(this.#options.folder),
      data: Buffer.from(`${JSON.stringify(book)}\n`),
      sync: "synced",
    });
  }
}

const bookPath = (folder: string): string => join(folder, "spend.json");

const utcDay = (now: number): string => new Date(now).toISOString().slice(0, 10);
