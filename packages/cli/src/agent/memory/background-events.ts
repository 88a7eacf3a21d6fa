import type { LoopEvent, MemoriesSavedEvent } from "palimpsest/internal/schema/loop-event";

type Listener = (event: LoopEvent) => void;

/** Events of background work, which happen between turns too. Those that come before anybody listens are kept. */
export class BackgroundEvents {
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
