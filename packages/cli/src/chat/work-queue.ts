export interface Step {
  readonly kind: "turn" | "command";
  run(signal: AbortSignal): Promise<void>;
}

interface WorkQueueDeps {
  /** Behind each step, until there is none. */
  readonly next: () => Step | undefined;
  readonly begins: () => void;
  /** Nothing runs any more. */
  readonly rests: () => void;
  /** A bug: what is behind it is not begun. */
  readonly failed: (error: unknown) => void;
}

interface RunningStep extends Pick<Step, "kind"> {
  readonly abort: AbortController;
}

/** One thing at a time, and the next behind it. */
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

  /** At rest only. */
  start(first: Step): void {
    this.#over = this.#run(first);
  }

  /** Ends what runs; what is behind it comes next. */
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
