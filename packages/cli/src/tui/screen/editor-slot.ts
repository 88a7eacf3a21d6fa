import type { Component, Focusable } from "@earendil-works/pi-tui";
import type { Dialog } from "../dialog/dialog.ts";

/** Shows the editor, or a dialog in its place. Dialogs wait for each other, in the order of the requests. */
export class EditorSlot implements Component {
  readonly #editor: Component & Focusable;
  readonly #focus: (component: Component & Focusable) => void;
  #dialog: Dialog<unknown> | undefined;
  #last: Promise<void> = Promise.resolve();

  constructor(editor: Component & Focusable, focus: (component: Component & Focusable) => void) {
    this.#editor = editor;
    this.#focus = focus;
  }

  get dialog(): Dialog<unknown> | undefined {
    return this.#dialog;
  }

  /** Creates the dialog when its turn comes. On abort it closes with its harmless answer. Never rejects. */
  async ask<Answer>(create: () => Dialog<Answer>, signal: AbortSignal): Promise<Answer> {
    const previous = this.#last;
    const closed = Promise.withResolvers<void>();
    this.#last = closed.promise;
    await previous;
    const dialog = create();
    const cancel = (): void => dialog.cancel();
    if (signal.aborted) cancel();
    else this.#show(dialog);
    signal.addEventListener("abort", cancel);
    try {
      return await dialog.answered;
    } finally {
      signal.removeEventListener("abort", cancel);
      if (this.#dialog === dialog) this.#show(undefined);
      closed.resolve();
    }
  }

  render(width: number): string[] {
    return (this.#dialog ?? this.#editor).render(width);
  }

  invalidate(): void {
    this.#editor.invalidate();
    this.#dialog?.invalidate();
  }

  #show(dialog: Dialog<unknown> | undefined): void {
    this.#dialog = dialog;
    this.#focus(dialog ?? this.#editor);
  }
}
