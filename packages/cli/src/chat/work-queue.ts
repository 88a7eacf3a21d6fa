export interface Step {
  readonly kind: "turn" | "command";
  run(signal: AbortSignal): Promise<void>;
}

interface WorkQueueDeps {
  /** Called after each step, until it returns none. */
  readonly next: () => Step | undefined;
  readonly begins: () => void;
  /** Nothing runs any more. */
  readonly rests: () => void;
  /** A bug: the steps behind it are not started. */
  readonly failed: (error: unknown) => void;
}

interface RunningStep extends Pick<Step, "kind"> {
  readonly abort: AbortController;
}

/** Runs one step at a time. */
export class WorkQueue {
  readonly #deps: WorkQueueDeps;
  #now: RunningStep | undefined;
  #over: Promise<void> = Promise.resolve();

  constructor(deps: WorkQueueDeps) {
    this.#deps = deps;
  }

  /** What runs; undefined at rest. */
  get kind(): Step["kind"] | undefined {
    return this.#now?.kind;
  }

  /** Only at rest. */
  start(first: Step): void {
    this.#over = this.#run(first);
  }

  /** Ends what runs; the next step follows. */
  abort(): void {
    this.#now?.abort.abort();
  }

  async rest(): Promise<void> {
    while (this.#now !== undefined) await this.#over;
  }

  async #run(first: Step): Promise<void> {
    this.#deps.begins();
    try {
      for (let step: Step | undefined = first; step !== undefined; step = this.#deps.next()) {
        const abort = new AbortController();
        this.#now = { kind: step.kind, abort };
        await step.run(abort.signal);
      }
    } catch (error) {
      this.#deps.failed(error);
    }
    this.#now = undefined;
    this.#deps.rests();
  }
}
