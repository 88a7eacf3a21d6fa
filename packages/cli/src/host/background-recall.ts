import { Worker } from "node:worker_threads";
import type { Millis } from "palimpsest/internal/schema/brand";
import { recallIdleMs, recallIntervalMs, recallThreadHeapMb } from "./limits.ts";

/** One run of the index in a thread of its own. */
export interface CatchUpThread {
  /** Settles when it has ended, however it did. */
  readonly ended: Promise<void>;
  /** At once: transactions are small, and what is lost is indexed again. */
  stop(): Promise<void>;
}

/**
 * Indexes what was said while a chat rests, so that a search finds the index ready.
 *
 *   nothing new ──replied──▶ behind ──rests, and the last run is long ago──▶ indexing ──▶ nothing new
 *   behind ──busy──▶ behind, with no timer           any ──close──▶ closed, the thread is ended
 */
export class BackgroundRecall {
  readonly #deps: { readonly start: () => CatchUpThread; readonly now: () => Millis };
  #isBehind = false;
  #isClosed = false;
  #lastEnd: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #thread: CatchUpThread | undefined;

  constructor(deps: { readonly start: () => CatchUpThread; readonly now: () => Millis }) {
    this.#deps = deps;
  }

  replied(): void {
    this.#isBehind = true;
  }

  busy(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  rests(): void {
    if (!this.#isBehind || this.#isClosed || this.#timer !== undefined || this.#thread !== undefined) return;
    const sinceLast = this.#lastEnd === undefined ? recallIntervalMs : this.#deps.now() - this.#lastEnd;
    const delay = Math.max(recallIdleMs, recallIntervalMs - sinceLast);
    this.#timer = setTimeout(() => void this.#run(), delay).unref();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.busy();
    await this.#thread?.stop();
  }

  async #run(): Promise<void> {
    this.#timer = undefined;
    this.#isBehind = false;
    this.#thread = this.#deps.start();
    await this.#thread.ended;
    this.#thread = undefined;
    this.#lastEnd = this.#deps.now();
    this.rests();
  }
}

/** What the thread is given. */
export interface RecallThreadData {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
}

/** What it prints goes nowhere: the screen belongs to the chat. It does not keep the process alive. */
export function startCatchUpThread(
  { env, cwd }: RecallThreadData,
  { execArgv = process.execArgv }: { readonly execArgv?: readonly string[] } = {},
): CatchUpThread {
  const data: RecallThreadData = { env: { ...env }, cwd };
  const worker = new Worker(new URL(`./recall-worker.${fileType}`, import.meta.url), {
    workerData: data,
    execArgv: [...execArgv],
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: recallThreadHeapMb },
  });
  worker.unref();
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  // An index that could not be built is built by the next search, which tells the user what is wrong.
  worker.on("error", () => resolve());
  worker.on("exit", () => resolve());
  return { ended, stop: async () => void (await worker.terminate()) };
}

const fileType = import.meta.url.endsWith(".ts") ? "ts" : "js";
