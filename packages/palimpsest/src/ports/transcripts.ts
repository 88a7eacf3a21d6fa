import type { Bytes, SessionId } from "../schema/brand.ts";
import type { WriteFailure } from "./blobs.ts";

/**
 * Transcripts of one project, as bytes. Only `transcript/` knows what a line means, so every store keeps every byte,
 * also of lines that it can't interpret.
 */
export interface Transcripts {
  /** Never opens an existing session: if the id is taken, the outcome is `exists`. */
  create(id: SessionId): Promise<OpenForWritingOutcome>;
  openForWriting(id: SessionId): Promise<OpenForWritingOutcome>;
  openForReading(id: SessionId): Promise<ByteSource | undefined>;
  /**
   * Creates a session that starts with `originLine`, followed by a byte-for-byte copy of the first `length` bytes of
   * `source`.
   */
  adopt(copy: AdoptedCopy): Promise<OpenForWritingOutcome>;
  /** A path or URL at which the user finds the transcript, even if it does not exist yet. Absent in stores that have none. */
  linkTo?(id: SessionId): string | undefined;
}

export type OpenForWritingOutcome =
  | { readonly kind: "open"; readonly writer: TranscriptWriter; readonly setAside: SetAside | undefined }
  | { readonly kind: "busy"; readonly holder: string }
  | { readonly kind: "missing" }
  | { readonly kind: "exists" }
  | WriteFailure;

/** One at a time per session; holds the session's lock until `close`. */
export interface TranscriptWriter {
  readonly id: SessionId;
  /**
   * One write per line, in order; each line is one JSON object without a newline. After `appended` the lines are as
   * durable as the mode promises. `later`: the next append without it syncs them too, be it of no lines; a store may
   * ignore this.
   */
  append(lines: readonly string[], sync?: "now" | "later"): Promise<AppendOutcome>;
  /** Marks the end of a turn: `turn` durability syncs here. */
  endTurn(): Promise<AppendOutcome>;
  /**
   * Copies the ranges aside and then overwrites them with spaces, in place: the length of the file and the offset of
   * every other entry stay the same.
   */
  blank(ranges: readonly ByteRange[]): Promise<BlankOutcome>;
  close(): Promise<void>;
  /**
   * Closes the log, and deletes it if `create` made it for this writer, because then no other writer has written to it.
   * Any other log is only closed.
   */
  discard(): Promise<void>;
}

export type BlankOutcome = { readonly kind: "blanked"; readonly setAside: readonly SetAside[] } | WriteFailure;

/** `at` is the byte offset at which each line begins. */
export type AppendOutcome = { readonly kind: "appended"; readonly at: readonly Bytes[] } | WriteFailure;

/** `always`: synced before the call that appends it ends; `turn`: at the end of each turn; `never`: left to the operating system. */
export type Durability = "always" | "turn" | "never";

/** Damaged bytes of a log, copied to `kept`: a torn last line found on opening, or what `blank` wrote over. */
export interface SetAside {
  readonly start: Bytes;
  readonly end: Bytes;
  readonly kept: string;
}

/** Random access to the bytes of a log. `size` is the length at the time of opening; only `blank` changes bytes before it. */
export interface ByteSource {
  readonly size: Bytes;
  read(range: ByteRange): Promise<Uint8Array>;
  close(): Promise<void>;
}
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

export interface AdoptedCopy {
  readonly id: SessionId;
  readonly originLine: string;
  readonly source: ByteSource;
  readonly length: Bytes;
}

export interface TranscriptsDep {
  readonly transcripts: Transcripts;
}
