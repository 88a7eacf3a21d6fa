/**
 * Notices pieces that came twice each, as a proxy that repeats what it forwards sends them. One pair says nothing: a
 * reply may well go "ha", "ha". That every piece is followed by itself and then by another one, is no chance.
 */
export class Pieces {
  /** Waits for its second half. */
  #half: string | undefined;
  #pair: string | undefined;
  #different = 0;
  #isPaired = true;

  take(piece: string): void {
    if (!this.#isPaired) return;
    if (this.#half === undefined) {
      this.#half = piece;
      return;
    }
    this.#isPaired = this.#half === piece;
    if (this.#pair !== piece) this.#different += 1;
    this.#pair = piece;
    this.#half = undefined;
  }

  /** Pairs that differ from the one before them; none where one piece came alone. */
  get pairs(): number {
    return this.#isPaired && this.#half === undefined ? this.#different : 0;
  }
}
