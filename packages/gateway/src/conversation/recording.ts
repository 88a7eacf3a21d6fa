import { ContextError } from "palimpsest/internal/context/context-error";
import { ParsedEvents } from "palimpsest/internal/context/reply/parsed-events";
import type { JsonObject } from "palimpsest/internal/schema/json";
import { recordDelayMs } from "./limits.ts";

export interface RecordingInput {
  readonly start: (events: AsyncIterable<JsonObject>) => Promise<unknown>;
  /** It could not be stored. That a reply broke off is no failure of ours. */
  readonly onFailure: (error: unknown) => void;
  /** Called before what came is handed over: events may wait to be put. */
  readonly beforeHandOver?: (() => void) | undefined;
}

/**
 * A reply that is being recorded. Its events are kept until it has ended and the client has it, so that the client waits for
 * none of that work.
 *
 *   open ──leave──▶ left ──a moment──▶ handed over ──▶ done
 *   open, left ──handOver──▶ handed over
 */
export class Recording {
  readonly #input: RecordingInput;
  readonly #events: JsonObject[] = [];
  /** What came after it was handed over. */
  readonly #later: JsonObject[] = [];
  readonly #done = Promise.withResolvers<void>();
  #state: "open" | "left" | "handed-over" = "open";

  constructor(input: RecordingInput) {
    this.#input = input;
  }

  /** Resolves when what came is stored. Never rejects: the next list brings what could not be recorded. */
  get done(): Promise<void> {
    return this.#done.promise;
  }

  put(event: JsonObject): void {
    (this.#state === "handed-over" ? this.#later : this.#events).push(event);
  }

  /** All that has come. */
  get events(): readonly JsonObject[] {
    return [...this.#events, ...this.#later];
  }

  /**
   * The reply has ended, or nobody goes on reading it. It is stored a moment later: a client on the same machine needs the
   * processor to read its last bytes.
   */
  leave(): void {
    if (this.#state !== "open") return;
    this.#state = "left";
    setTimeout(() => this.handOver(), recordDelayMs);
  }

  /** What is asked of the context after this comes behind the reply. */
  handOver(): void {
    if (this.#state === "handed-over") return;
    this.#input.beforeHandOver?.();
    this.#state = "handed-over";
    void this.#store();
  }

  async #store(): Promise<void> {
    try {
      await this.#input.start(new ParsedEvents(this.#events));
    } catch (error) {
      if (!(error instanceof ContextError) || error.code !== "broken-reply") this.#input.onFailure(error);
    }
    this.#done.resolve();
  }
}
