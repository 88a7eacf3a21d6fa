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
  #running: RunningStep | undefined;
  #done: Promise<void> = Promise.resolve();

  constructor(deps: WorkQueueDeps) {
    this.#deps = deps;
  }

  /** What runs; undefined at rest. */
  get kind(): Step["kind"] | undefined {
    return this.#running?.kind;
  }

  /** Only at rest. */
  start(first: Step): void {
    this.#done = this.#run(first);
  }

  /** Ends what runs; the next step follows. */
  abort(): void {
    this.#running?.abort.abort();
  }

  async rest(): Promise<void> {
    while (this.#running !== undefined) await this.#done;
  }

  async #run(first: Step): Promise<void> {
    this.#deps.begins();
    try {
      for (let step: Step | undefined = first; step !== undefined; step = this.#deps.next()) {
        const abort = new AbortController();
        this.#running = { kind: step.kind, abort };
        await step.run(abort.signal);
      }
    } catch (error) {
      this.#deps.failed(error);
    }
    this.#running = undefined;
    this.#deps.rests();
  }
}
