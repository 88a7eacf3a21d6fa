import type { Context } from "../../context/context.ts";
import type { Provider } from "../../context/provider-formats.ts";
import { AdapterContext, type AdapterOptions } from "./adapter-context.ts";

/** The contexts of a framework that runs many conversations: one for each thread, and one for the runs without a thread. */
export class ThreadContexts<P extends Provider> {
  readonly #provider: P;
  readonly #options: Omit<AdapterOptions<P>, "session">;
  readonly #byThread = new Map<string | undefined, AdapterContext<P>>();

  constructor(provider: P, options: Omit<AdapterOptions<P>, "session">) {
    this.#provider = provider;
    this.#options = options;
  }

  /** A session has the id of its thread: with a store, another process continues it. */
  open(thread: string | undefined): AdapterContext<P> {
    const known = this.#byThread.get(thread);
    if (known !== undefined) return known;
    const opened = new AdapterContext(this.#provider, {
      ...this.#options,
      ...(thread === undefined ? {} : { session: thread }),
    });
    this.#byThread.set(thread, opened);
    return opened;
  }

  contextFor(thread: string | undefined): Promise<Context<P>> | undefined {
    return this.#byThread.get(thread)?.context;
  }

  async close(): Promise<void> {
    await Promise.all(this.#byThread.values().map((adapter) => adapter.close()));
    this.#byThread.clear();
  }
}
