import { draftKeptMillis, idleNotificationMillis, jobsLookMillis } from "./limits.ts";

export interface WatchesInput {
  /** The prompt has been idle for long. */
  readonly idle: () => void;
  /** Something was typed, a while ago. */
  readonly typed: () => void;
  readonly jobs: () => "some-run" | "none";
}

/** What a chat does by the clock. None of it keeps the process alive, and at rest there is nothing to wake up for. */
export class Watches {
  readonly #input: WatchesInput;
  #idle: NodeJS.Timeout | undefined;
  #typed: NodeJS.Timeout | undefined;
  #jobs: NodeJS.Timeout | undefined;

  constructor(input: WatchesInput) {
    this.#input = input;
  }

  idle(): void {
    clearTimeout(this.#idle);
    this.#idle = setTimeout(this.#input.idle, idleNotificationMillis).unref();
  }

  busy(): void {
    clearTimeout(this.#idle);
  }

  /** Once for everything that is typed until then. */
  typed(): void {
    this.#typed ??= setTimeout(() => {
      this.#typed = undefined;
      this.#input.typed();
    }, draftKeptMillis).unref();
  }

  /** As long as some run. */
  jobs(): void {
    this.#jobs ??= setInterval(() => {
      if (this.#input.jobs() === "some-run") return;
      clearInterval(this.#jobs);
      this.#jobs = undefined;
    }, jobsLookMillis).unref();
  }

  close(): void {
    clearTimeout(this.#idle);
    clearTimeout(this.#typed);
    clearInterval(this.#jobs);
  }
}
