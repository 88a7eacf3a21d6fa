import type { Component, Focusable } from "@earendil-works/pi-tui";
import type { Dialog } from "../dialog/dialog.ts";

/** Where the editor stands, or in its place what a person is asked: one after the other, in the order in which it came. */
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

  /** Made when its turn has come. Aborted, it is taken away and answers with what changes nothing. Never rejects. */
  async ask<Answer>(make: () => Dialog<Answer>, signal: AbortSignal): Promise<Answer> {
    const before = this.#last;
    const over = Promise.withResolvers<void>();
    this.#last = over.promise;
    await before;
    const dialog = make();
    const cancel = (): void => dialog.cancel();
    if (signal.aborted) cancel();
    else this.#put(dialog);
    signal.addEventListener("abort", cancel);
    try {
      return await dialog.answered;
    } finally {
      signal.removeEventListener("abort", cancel);
      if (this.#dialog === dialog) this.#put(undefined);
      over.resolve();
    }
  }

  render(width: number): string[] {
    return (this.#dialog ?? this.#editor).render(width);
  }

  invalidate(): void {
    this.#editor.invalidate();
    this.#dialog?.invalidate();
  }

  #put(dialog: Dialog<unknown> | undefined): void {
    this.#dialog = dialog;
    this.#focus(dialog ?? this.#editor);
  }
}
