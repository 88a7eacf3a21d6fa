import type { UserPort } from "palimpsest/internal/ports/user-port";
import type { PlanReview } from "palimpsest/internal/ports/plan-mode";
import type { ChatItem, ItemId } from "./state/chat-item.ts";
import type { ChatState } from "./state/chat-state.ts";
import type { ItemDetail } from "./state/item-detail.ts";
import type { SlashCompletion } from "./slash/slash-commands.ts";

/**
 * The UI of a chat: either the terminal UI or a plain terminal, line by line. The agent asks the user through it, one
 * question at a time; later ones wait. None of these rejects. When the signal is aborted, the dialog closes and its answer
 * must be ignored.
 */
export interface ChatUi extends UserPort, PlanReview {
  /** The width for laying out text. May change. */
  readonly columns: number;
  /** `nobody`: input comes from a pipe, so every question is answered as if the user had left it. */
  readonly answeredBy: "user" | "nobody";
  /** Shows this state. Costs nothing until the next frame is drawn. */
  show(state: ChatState): void;
  /** Undefined if the user cancels. */
  choose(ask: ChoicePrompt, signal: AbortSignal): Promise<string | undefined>;
  /** Shows a text for approval. */
  preview(ask: PreviewPrompt, signal: AbortSignal): Promise<PreviewAnswer>;
  /** Lets the user edit a text, or write one if it is empty. Undefined if it stays unchanged. */
  edit(ask: EditPrompt, signal: AbortSignal): Promise<string | undefined>;
  /** Shows a transcript at one of its items or at its end, until the user goes back. `not-shown`: there is no screen for it. */
  openTranscript(place: Transcript, signal: AbortSignal): Promise<"shown" | "not-shown">;
  /** Puts a text into the editor, as after a rewind, before what is there already. */
  refill(text: string): void;
}

/** A place in a session, or in an agent's conversation, that is only read. */
export interface Transcript {
  /** Whose it is; stands before the keys. */
  readonly title?: string | undefined;
  readonly items: readonly ChatItem[];
  /** The item that is marked, unfolded and scrolled to. Absent: the end is shown, and new items as they come. */
  readonly at?: ItemId | undefined;
  /**
   * The items as they are now, if it may still grow; undefined if none has changed. Items keep their ids. Called while it
   * is shown. Must not reject.
   */
  readonly refresh?: (() => Promise<readonly ChatItem[] | undefined>) | undefined;
  /** Must not reject. */
  readonly detail: (item: ChatItem) => Promise<ItemDetail>;
}

export interface ChoicePrompt {
  readonly title: string;
  readonly choices: readonly Choice[];
  /** `typed`: letters narrow the list. */
  readonly search: "typed" | "none";
  /** The value selected at first, such as the current one. Default: the first. */
  readonly at?: string;
  /** `agent`: the user may be typing when it opens, so keys count only after a pause. Default: `user`. */
  readonly openedBy?: "user" | "agent";
  /** What the hint says Enter does. Default: "choose". */
  readonly verb?: string;
}

export interface Choice {
  readonly value: string;
  readonly label: string;
  readonly description?: string;
}

export interface PreviewPrompt {
  readonly title: string;
  /** Styled lines, laid out for `columns`. */
  readonly facts: readonly string[];
  /** Lists what the facts only count; shown on request. */
  readonly details: readonly string[];
  /** Markdown. Scrolls if it does not fit the screen. */
  readonly text: string;
}

export type PreviewAnswer = "commit" | "edit" | "cancel";

export interface EditPrompt {
  readonly title: string;
  readonly text: string;
  /** `message`: it is sent, by Enter too, as in the chat. Default: `text`, which is saved. */
  readonly of?: "text" | "message";
}

/** What the user does, handled by the chat. None of these may throw or block the keyboard. */
export interface ChatHandlers {
  /** Enter. Pasted texts are included in full. */
  submit(text: string): void;
  /** Esc: ends the running turn. */
  interrupt(): void;
  /** Takes the newest message from the queue; undefined if the queue is empty. */
  takeBack(): string | undefined;
  /** Ctrl-R: takes back the memories that were saved in the background last. */
  undoMemories(): void;
  /** Shift-Tab: the next permission mode. */
  nextMode(): void;
  /** Ctrl-C twice, Ctrl-D in an empty editor, or a closed terminal. */
  quit(): void;
  /** The editor's text has changed. Must be cheap: the text is read later, and kept in case the process is killed. */
  typed?(): void;
  /** Candidates for a command's argument. */
  complete(of: SlashCompletion, typed: string): Promise<readonly Choice[]>;
}
