import type { Millis } from "palimpsest/internal/schema/brand";
import type { ChatView } from "./chat-view.ts";
import type { CurrentAgent } from "./current-agent.ts";
import type { TerminalUi } from "./terminal-ui.ts";
import { type UnsentInput, UnsentInputStore } from "./unsent-input.ts";
import { parseSlash } from "../tui/slash/parse-slash.ts";

interface PendingInputDeps {
  readonly ui: Pick<TerminalUi, "refill" | "typed">;
  readonly view: ChatView;
  readonly current: Pick<CurrentAgent, "queue">;
  readonly now: () => Millis;
}

/**
 * What a person has sent and no log holds yet: messages for the turn that runs, in its queue; anything else behind it. None
 * of it is lost: until the log holds it, it is kept in a file, and where it will not be said it goes back where they type.
 */
export class PendingInput {
  readonly #deps: PendingInputDeps;
  readonly #kept = new UnsentInputStore();
  readonly #behind: string[] = [];
  #sending: string | undefined;
  /** Given back, where the front can't say what became of it. */
  #givenBack = "";

  constructor(deps: PendingInputDeps) {
    this.#deps = deps;
  }

  get isEmpty(): boolean {
    return this.#kept.isEmpty;
  }

  /** Messages reach the turn that runs, unless something waits that is to come before them. */
  add(text: string, forWhom: "turn" | "later"): void {
    const queue = forWhom === "turn" && this.#behind.length === 0 ? this.#deps.current.queue : undefined;
    (queue ?? this.#behind).push(text);
    this.#deps.view.act({ kind: "queue", text });
    this.keep();
  }

  /** The oldest, to be run now. */
  next(): string | undefined {
    const text = this.#deps.current.queue?.shift() ?? this.#behind.shift();
    if (text !== undefined) this.#deps.view.act({ kind: "take-first" });
    return text;
  }

  takeBack(): string | undefined {
    const text = this.#behind.pop() ?? this.#deps.current.queue?.pop();
    if (text === undefined) return undefined;
    this.#deps.view.act({ kind: "take-back" });
    this.keep();
    return text;
  }

  /** A turn begins with it. */
  send(text: string): void {
    this.#sending = text;
    this.#deps.view.act({ kind: "say", text });
    this.keep();
  }

  /** The log holds it. */
  said(): void {
    this.#sending = undefined;
  }

  /** The turn is over, and the log may not hold what it began with. */
  get unsaid(): readonly string[] {
    return this.#sending === undefined ? [] : [this.#sending];
  }

  /** Into the editor: what was not said, and what waited behind it. */
  giveBack(): void {
    const { view, current } = this.#deps;
    const { unsaid } = this;
    // What a turn has taken and could not write is in none of the queues any more, but it is still shown.
    const waited = view.state.queue;
    current.queue?.splice(0);
    this.#behind.length = 0;
    this.#sending = undefined;
    for (const _ of waited) view.act({ kind: "take-back" });
    if (unsaid.length > 0)
      view.act({ kind: "tell", tone: "plain", text: "Your message was not sent. It is back where you type." });
    const { text, notRun } = returnInput([...unsaid, ...waited]);
    if (text !== "") this.#deps.ui.refill(text);
    this.#tellNotRun(notRun);
  }

  /** What an earlier process left. `words`: where it is from. */
  restore({ messages, draft }: UnsentInput, words: string): void {
    const { text, notRun } = returnInput(
      messages.map((one) => one.text),
      draft,
    );
    if (text !== "") {
      this.#deps.ui.refill(text);
      this.#givenBack = [this.#givenBack, text].filter((one) => one !== "").join("\n\n");
      this.#deps.view.act({ kind: "tell", tone: "plain", text: words });
    }
    this.#tellNotRun(notRun);
  }

  /** Something was sent: what was given back to a front without an editor is in it, or not wanted. */
  forgetGivenBack(): void {
    this.#givenBack = "";
  }

  keep(): void {
    const { view, ui: front, now } = this.#deps;
    const texts = [...this.unsaid, ...view.state.queue];
    this.#kept.put({ texts, draft: front.typed ?? this.#givenBack, at: now() });
  }

  /** Where it is kept from now on. */
  async keepAt(path: string | undefined): Promise<void> {
    this.keep();
    await this.#kept.moveTo(path);
  }

  /** When all of it is on disk. */
  async settled(): Promise<void> {
    this.keep();
    await this.#kept.settled();
  }

  #tellNotRun(commands: readonly string[]): void {
    if (commands.length > 0)
      this.#deps.view.act({ kind: "tell", tone: "plain", text: `Not run: ${commands.join(", ")}` });
  }
}

/** What goes back where the person types, and what can't go there: a command among messages would be sent as their text. */
interface ReturnedInput {
  readonly text: string;
  readonly notRun: readonly string[];
}

/** `draft`: what was typed and never sent stays what it is. */
export function returnInput(sent: readonly string[], draft = ""): ReturnedInput {
  const texts = [...sent.filter((text) => !isCommand(text)), draft].filter((text) => text !== "");
  return { text: texts.join("\n\n"), notRun: sent.filter(isCommand).map((text) => text.trim()) };
}

const isCommand = (text: string): boolean => parseSlash(text).kind === "command";
