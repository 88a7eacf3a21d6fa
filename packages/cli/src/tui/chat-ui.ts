import type { UserPort } from "palimpsest/internal/ports/user-port";
import type { PlanReview } from "palimpsest/internal/ports/plan-mode";
import type { ChatState } from "./state/chat-state.ts";
import type { SlashCompletion } from "./slash/slash-commands.ts";

/**
 * What a chat needs of whoever shows it: the terminal UI is one, a plain terminal, line by line, another. The agent asks its
 * person through it. One thing is asked at a time: what comes meanwhile waits. None of these rejects; aborted, what is shown
 * is taken away and the answer counts for nothing.
 */
export interface ChatUi extends UserPort, PlanReview {
  /** For whoever lays out text. May change. */
  readonly columns: number;
  /** The chat as it is now. Costs nothing until the next frame is drawn. */
  show(state: ChatState): void;
  /** Undefined where the person would rather not. */
  choose(ask: ChoicePrompt, signal: AbortSignal): Promise<string | undefined>;
  /** A text to look at and decide about. */
  preview(ask: PreviewPrompt, signal: AbortSignal): Promise<PreviewAnswer>;
  /** A text to change. Undefined where it stays as it was. */
  edit(ask: EditPrompt, signal: AbortSignal): Promise<string | undefined>;
  /** Puts a text where the person types, as after a rewind. What stood there comes behind it. */
  refill(text: string): void;
}

export interface ChoicePrompt {
  readonly title: string;
  readonly choices: readonly Choice[];
  /** `typed`: letters narrow the list. */
  readonly search: "typed" | "none";
  /** The value that the list begins on, such as the one in force; absent: the first. */
  readonly at?: string;
  /** What Enter is said to do; "choose" where it is absent. */
  readonly verb?: string;
}

export interface Choice {
  readonly value: string;
  readonly label: string;
  readonly description?: string;
}

export interface PreviewPrompt {
  readonly title: string;
  /** Styled, for `columns`. */
  readonly facts: readonly string[];
  /** The same, of what the facts only count: shown when it is asked for. */
  readonly details: readonly string[];
  /** Markdown; scrolls where it is longer than the screen has room. */
  readonly text: string;
}

export type PreviewAnswer = "commit" | "edit" | "cancel";

export interface EditPrompt {
  readonly title: string;
  readonly text: string;
}

/** What a person does, for whoever runs the chat. None of these may throw, and none keeps the keyboard waiting. */
export interface ChatHandlers {
  /** Enter. Pasted texts stand in full. */
  submit(text: string): void;
  /** Esc: ends what runs. */
  interrupt(): void;
  /** Of the queue, the newest; undefined where nothing waits. */
  takeBack(): string | undefined;
  /** Shift-Tab: the next permission mode. */
  nextMode(): void;
  /** Ctrl-C twice, Ctrl-D in an empty editor, or the terminal is gone. */
  quit(): void;
  /** What stands in the editor has changed. Costs nothing: it is looked at later, and kept in case the process is killed. */
  typed?(): void;
  /** Candidates for what a command takes. */
  complete(of: SlashCompletion, typed: string): Promise<readonly Choice[]>;
}
