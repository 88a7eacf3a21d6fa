import { draftSaveMillis, idleNotificationMillis, jobsPollMillis } from "./limits.ts";

interface ChatTimersInput {
  /** The prompt has been idle for long. */
  readonly idle: () => void;
  /** Something was typed, a while ago. */
  readonly typed: () => void;
  readonly jobs: () => "some-run" | "none";
}

/** The chat's timers. None of them keeps the process alive, and none runs at rest. */
export class ChatTimers {
  readonly #input: ChatTimersInput;
  #idle: NodeJS.Timeout | undefined;
  #typed: NodeJS.Timeout | undefined;
  #jobs: NodeJS.Timeout | undefined;

  constructor(input: ChatTimersInput) {
    this.#input = input;
  }

  idle(): void {
    clearTimeout(this.#idle);
    this.#idle = setTimeout(this.#input.idle, idleNotificationMillis).unref();
  }

  busy(): void {
    clearTimeout(this.#idle);
  }

  /** Fires once for everything typed until then. */
  typed(): void {
    this.#typed ??= setTimeout(() => {
      this.#typed = undefined;
      this.#input.typed();
    }, draftSaveMillis).unref();
  }

  /** Repeats as long as some run. */
  jobs(): void {
    this.#jobs ??= setInterval(() => {
      if (this.#input.jobs() === "some-run") return;
      clearInterval(this.#jobs);
      this.#jobs = undefined;
    }, jobsPollMillis).unref();
  }

  close(): void {
    clearTimeout(this.#idle);
    clearTimeout(this.#typed);
    clearInterval(this.#jobs);
  }
}
