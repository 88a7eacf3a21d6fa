export interface IdsDep {
  /** A fresh UUID. Passed in, so that a whole session can be replayed byte for byte. */
  readonly uuid: () => string;
}
