import type { LoopEvent, MemoriesSavedEvent } from "palimpsest/internal/schema/loop-event";

type Listener = (event: LoopEvent) => void;

/** Events of background work, which happen between turns too. Those that come before anybody listens are kept. */
export class BackgroundEvents {
  readonly warnings = new OnceQueue();
  /** That background work has no money left. */
  readonly paused = new OnceQueue();
  #listener: Listener | undefined;
  #waiting: LoopEvent[] = [];
  #saved: MemoriesSavedEvent | undefined;

  /** What was saved last. */
  get saved(): MemoriesSavedEvent | undefined {
    return this.#saved;
  }

  readonly emit = (event: LoopEvent): void => {
    if (event.kind === "memories-saved") this.#saved = event;
    if (this.#listener === undefined) this.#waiting.push(event);
    else this.#listener(event);
  };

  /** The newest listener gets them. */
  listen(listener: Listener): void {
    this.#listener = listener;
    for (const event of this.#waiting.splice(0)) listener(event);
  }
}

/** Warnings for the user, each of them once. */
class OnceQueue {
  readonly #known = new Set<string>();
  #waiting: string[] = [];

  readonly add = (warning: string): void => {
    if (this.#known.has(warning)) return;
    this.#known.add(warning);
    this.#waiting.push(warning);
  };

  take(): readonly string[] {
    return this.#waiting.splice(0);
  }
}
