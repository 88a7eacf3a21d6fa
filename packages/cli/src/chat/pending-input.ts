import type { Agent } from "../agent/agent.ts";
import { userTypedText } from "palimpsest/internal/transcript/user-text";
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
 * What the user has sent and no log holds yet: messages for the running turn, in its queue, and everything else after
 * it. Nothing is lost: it is stored in a file until the log holds it, and if it will not be sent it goes back to the
 * editor.
 */
export class PendingInput {
  readonly #deps: PendingInputDeps;
  readonly #store = new UnsentInputStore();
  readonly #later: string[] = [];
  #sending: string | undefined;
  /** Text given back to a UI that can't report its editor. */
  #givenBack = "";

  constructor(deps: PendingInputDeps) {
    this.#deps = deps;
  }

  get isEmpty(): boolean {
    return this.#store.isEmpty;
  }

  /** Messages reach the running turn, unless something that comes before them is waiting. */
  add(text: string, target: "turn" | "later"): void {
    const queue = target === "turn" && this.#later.length === 0 ? this.#deps.current.queue : undefined;
    (queue ?? this.#later).push(text);
    this.#deps.view.act({ kind: "queue", text });
    this.keep();
  }

  /** The oldest one, to be run now. */
  next(): string | undefined {
    const text = this.#deps.current.queue?.shift() ?? this.#later.shift();
    if (text !== undefined) this.#deps.view.act({ kind: "take-first" });
    return text;
  }

  takeBack(): string | undefined {
    const text = this.#later.pop() ?? this.#deps.current.queue?.pop();
    if (text === undefined) return undefined;
    this.#deps.view.act({ kind: "take-back" });
    this.keep();
    return text;
  }

  /** A turn begins with this text. */
  send(text: string): void {
    this.#sending = text;
    this.#deps.view.act({ kind: "say", text });
    this.keep();
  }

  /** The log holds the text. */
  said(): void {
    this.#sending = undefined;
  }

  /** What the log may lack after the turn: the text that it began with. */
  get unsaid(): readonly string[] {
    return this.#sending === undefined ? [] : [this.#sending];
  }

  /** Returns to the editor what was not sent and what waited behind it. */
  giveBack(): void {
    const { view, current } = this.#deps;
    const { unsaid } = this;
    // A message that a turn has taken and could not write is in no queue any more, but it is still shown.
    const queued = view.state.queue;
    current.queue?.splice(0);
    this.#later.length = 0;
    this.#sending = undefined;
    for (const _ of queued) view.act({ kind: "take-back" });
    if (unsaid.length > 0)
      view.act({ kind: "tell", tone: "plain", text: "Your message was not sent. It is back where you type." });
    const { text, notRun } = returnInput([...unsaid, ...queued]);
    if (text !== "") this.#deps.ui.refill(text);
    this.#tellNotRun(notRun);
  }

  /** Restores the input of an earlier process. `notice`: tells the user where it is from. */
  restore({ messages, draft }: UnsentInput, notice: string): void {
    const { text, notRun } = returnInput(
      messages.map((message) => message.text),
      draft,
    );
    if (text !== "") {
      this.#deps.ui.refill(text);
      this.#givenBack = [this.#givenBack, text].filter((part) => part !== "").join("\n\n");
      this.#deps.view.act({ kind: "tell", tone: "plain", text: notice });
    }
    this.#tellNotRun(notRun);
  }

  /**
   * Something was sent: it contains the text that was given back to a UI without an editor, or that text is not wanted.
   */
  forgetGivenBack(): void {
    this.#givenBack = "";
  }

  keep(): void {
    const { view, ui, now } = this.#deps;
    const texts = [...this.unsaid, ...view.state.queue];
    this.#store.put({ texts, draft: ui.typed ?? this.#givenBack, at: now() });
  }

  /** Sets where the input is stored from now on. */
  async keepAt(path: string | undefined): Promise<void> {
    this.keep();
    await this.#store.moveTo(path);
  }

  /** Resolves when all of it is on disk. */
  async settled(): Promise<void> {
    this.keep();
    await this.#store.settled();
  }

  #tellNotRun(commands: readonly string[]): void {
    if (commands.length > 0)
      this.#deps.view.act({ kind: "tell", tone: "plain", text: `Not run: ${commands.join(", ")}` });
  }
}

/** What goes back to the editor, and what can't: a command among messages would be sent as text. */
interface ReturnedInput {
  readonly text: string;
  readonly notRun: readonly string[];
}

/** `draft`: text that was typed and never sent; it stays a draft. */
export function returnInput(sent: readonly string[], draft = ""): ReturnedInput {
  const texts = [...sent.filter((text) => !isCommand(text)), draft].filter((text) => text !== "");
  return { text: texts.join("\n\n"), notRun: sent.filter(isCommand).map((text) => text.trim()) };
}

const isCommand = (text: string): boolean => parseSlash(text).kind === "command";

/** Whether the log holds the message that a turn began with. */
export const isInLog = (
  { session }: Agent,
  { text, from }: { readonly text: string; readonly from: number },
): boolean => session.fold.path.loggedFrom(from).some(({ entry }) => userTypedText(entry) === text.trim());
