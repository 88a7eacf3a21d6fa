import type { Context } from "../../context/context.ts";
import type { Provider } from "../../context/provider-formats.ts";
import { AdapterContext, type OwnModelOptions } from "./adapter-context.ts";
import { openThreadsMax } from "./limits.ts";

export type ThreadOptions<P extends Provider> = Omit<OwnModelOptions<P>, "session">;

/**
 * The contexts of a framework that runs many conversations: one for each thread, and one for the runs without a thread. Of
 * too many, the one that was used longest ago is closed; the thread's next request opens it again.
 */
export class ThreadContexts<P extends Provider> {
  readonly #provider: P;
  readonly #options: ThreadOptions<P>;
  /** The one that was used last is at the end. */
  readonly #byThread = new Map<string | undefined, AdapterContext<P>>();
  readonly #closingByThread = new Map<string | undefined, Promise<void>>();

  constructor(provider: P, options: ThreadOptions<P>) {
    this.#provider = provider;
    this.#options = options;
  }

  /** A session has the id of its thread: with a store, another process continues it. */
  async open(thread: string | undefined): Promise<AdapterContext<P>> {
    await this.#closingByThread.get(thread);
    const known = this.#byThread.get(thread) ?? this.#create(thread);
    this.#byThread.delete(thread);
    this.#byThread.set(thread, known);
    const [oldest] = this.#byThread.keys();
    // A context that can't be closed is no reason to fail this request.
    if (this.#byThread.size > openThreadsMax) this.closeThread(oldest).catch(() => undefined);
    return known;
  }

  contextFor(thread: string | undefined): Promise<Context<P>> | undefined {
    return this.#byThread.get(thread)?.context;
  }

  async closeThread(thread: string | undefined): Promise<void> {
    const adapter = this.#byThread.get(thread);
    if (adapter === undefined) return await this.#closingByThread.get(thread);
    this.#byThread.delete(thread);
    const closing = adapter.close().finally(() => this.#closingByThread.delete(thread));
    this.#closingByThread.set(
      thread,
      closing.catch(() => undefined),
    );
    await closing;
  }

  async close(): Promise<void> {
    const threads = new Set([...this.#byThread.keys(), ...this.#closingByThread.keys()]);
    await Promise.all([...threads].map((thread) => this.closeThread(thread)));
  }

  #create(thread: string | undefined): AdapterContext<P> {
    return new AdapterContext(this.#provider, {
      ...this.#options,
      ...(thread === undefined ? {} : { session: thread }),
    });
  }
}
