import { createInterface, type Interface } from "node:readline";
import process from "node:process";
import { Turnstile } from "palimpsest/internal/loop/ask-user";
import type { Millis } from "palimpsest/internal/schema/brand";
import type { ChatItem } from "../../tui/state/chat-item.ts";
import { type ChatState, isBusy } from "../../tui/state/chat-state.ts";
import type { CommandContext } from "../../program/command.ts";
import { wrapLines } from "../../text/format.ts";
import type { TerminalUiHandlers } from "../terminal-ui.ts";
import { answerGuardMillis, secondInterruptMillis } from "../limits.ts";
import { itemText } from "./item-text.ts";

export interface PlainUiInput {
  readonly context: Pick<CommandContext, "stdin" | "out">;
  readonly handlers: TerminalUiHandlers;
  readonly now: () => Millis;
  /** `pipe`: there is no user to ask, and a line is read once the one before it is done. */
  readonly inputFrom: "terminal" | "pipe";
}

interface OpenQuestion {
  readonly since: Millis;
  readonly answer: (line: string | undefined) => void;
}

/** Lines in and out, in order: a typed line answers the open question, or else is sent. */
export class PlainLines {
  readonly #input: PlainUiInput;
  readonly #turnstile = new Turnstile();
  readonly #typed: string[] = [];
  #lines: Interface | undefined;
  #printed = 0;
  #question: OpenQuestion | undefined;
  #isRunning = false;
  #isPromptDue = false;
  /** The prompt is the last that was printed. */
  #isPrompted = false;
  #interruptedAt: number = -Infinity;
  #written: Promise<void> = Promise.resolve();

  constructor(input: PlainUiInput) {
    this.#input = input;
  }

  start(): void {
    process.on("SIGINT", this.#interrupt);
    const lines = createInterface({ input: this.#input.context.stdin, terminal: false });
    this.#lines = lines;
    if (this.#input.inputFrom === "pipe") void this.#readPipe(lines);
    else {
      lines.on("line", (line) => this.#take(line));
      lines.once("close", () => this.#input.handlers.quit());
    }
    // The chat's first message is sent in this same moment.
    queueMicrotask(() => void this.#promptAtRest());
  }

  async stop(): Promise<void> {
    process.off("SIGINT", this.#interrupt);
    this.#lines?.close();
    this.#input.context.stdin.pause();
    await this.#written;
  }

  show(state: ChatState): void {
    const { out } = this.#input.context;
    const isBesidePrompt = this.#isPrompted && state.done.length > this.#printed;
    // Work in the background speaks while the user is prompted.
    if (isBesidePrompt) this.tell("");
    for (const item of state.done.from(this.#printed)) {
      const userText = userTextIn(item);
      const at = userText === undefined ? -1 : this.#typed.findIndex((typed) => typed.trim() === userText);
      if (at !== -1) this.#typed.splice(at, 1);
      const text =
        at === -1 ? itemText(item, { style: out.style, now: this.#input.now(), columns: this.#columns }) : undefined;
      if (text !== undefined && item.kind === "output") this.#writeDrawn(`${text}\n`);
      else if (text !== undefined) this.tell(text);
    }
    this.#printed = state.done.length;
    this.#isRunning = state.turn === "running" || isBusy(state.phase);
    if (isBesidePrompt && !this.#isRunning) this.#prompt();
  }

  tell(text: string): void {
    const { out } = this.#input.context;
    this.#written = this.#written.then(() => out.write(`${text}\n`));
  }

  /** Undefined if the question was withdrawn. */
  async ask(text: string, signal: AbortSignal): Promise<string | undefined> {
    const leave = await this.#turnstile.enter();
    try {
      if (signal.aborted) return undefined;
      const { out } = this.#input.context;
      this.#written = this.#written.then(() => out.write(wrapLines(text, this.#columns)));
      return await new Promise<string | undefined>((resolve) => {
        this.#question = { since: this.#input.now(), answer: resolve };
        signal.addEventListener("abort", () => resolve(undefined), { once: true });
      });
    } finally {
      this.#question = undefined;
      leave();
    }
  }

  /** The terminal's width: the terminal itself would break within words. */
  get #columns(): number | undefined {
    const { isTerminal, columns } = this.#input.context.out;
    return isTerminal ? columns : undefined;
  }

  #take(line: string): void {
    const question = this.#question;
    if (question !== undefined && this.#input.now() - question.since >= answerGuardMillis) question.answer(line);
    else this.#submit(line);
  }

  #submit(line: string): void {
    const { handlers, inputFrom } = this.#input;
    // A terminal echoes what is typed.
    if (inputFrom === "terminal") this.#typed.push(line);
    this.#isPrompted = false;
    handlers.submit(line);
    void this.#promptAtRest();
  }

  async #readPipe(lines: Interface): Promise<void> {
    const { handlers } = this.#input;
    for await (const line of lines) {
      this.#submit(line);
      await handlers.rest();
    }
    await handlers.rest();
    handlers.quit();
  }

  /** Prompts once, however many lines were typed until then. */
  async #promptAtRest(): Promise<void> {
    if (this.#isPromptDue) return;
    this.#isPromptDue = true;
    await this.#input.handlers.rest();
    this.#isPromptDue = false;
    this.#prompt();
  }

  #prompt(): void {
    const { inputFrom, context } = this.#input;
    if (inputFrom === "pipe" || !context.out.isTerminal) return;
    this.#isPrompted = true;
    this.#written = this.#written.then(() => context.out.write("> "));
  }

  /** Lines of a command are printable already, except for their colours. */
  #writeDrawn(text: string): void {
    const { out } = this.#input.context;
    this.#written = this.#written.then(() => out.bytes(Buffer.from(text)));
  }

  readonly #interrupt = (): void => {
    const now = performance.now();
    const isSecond = now - this.#interruptedAt < secondInterruptMillis;
    this.#interruptedAt = now;
    const { handlers } = this.#input;
    if (isSecond) return handlers.quit();
    if (this.#isRunning) return handlers.interrupt();
    this.tell("\nCtrl-C once more quits.");
    this.#prompt();
  };
}

/** The user's text: a message, or a command that the chat repeats above its answer. */
function userTextIn(item: ChatItem): string | undefined {
  if (item.kind === "user") return item.text.trim();
  if (item.kind !== "output" || item.lines[0]?.startsWith("> ") !== true) return undefined;
  return item.lines.join("\n").slice("> ".length);
}
