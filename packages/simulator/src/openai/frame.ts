/** One event of a stream, as its bytes will be. */
export interface Frame {
  readonly text: string;
  /** `delta`: words of the reply. `last`: with it the reply has arrived. */
  readonly kind: "delta" | "other" | "last";
}
