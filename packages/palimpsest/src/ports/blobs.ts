import type { WriteRefusal } from "../schema/loop-event.ts";
import type { BlobId, SessionId, ToolUseId } from "../schema/brand.ts";

/** Large contents, addressed by their hash: the same bytes are stored once. */
export interface Blobs {
  put(bytes: Uint8Array): Promise<BlobPutOutcome>;
  get(id: BlobId): Promise<Uint8Array | undefined>;
  /** In the order of their ids. */
  list(): Promise<readonly BlobId[]>;
  /**
   * Makes a stored blob reachable under the tool call's id, for users and for tools that read files, and returns the
   * path. Undefined if the link can't be made; absent in stores without paths.
   */
  link?(options: BlobLink): Promise<string | undefined>;
}

export interface BlobLink {
  readonly blob: BlobId;
  readonly session: SessionId;
  readonly toolUse: ToolUseId;
  readonly media: "text" | "json";
}

export type BlobPutOutcome = { readonly kind: "stored"; readonly id: BlobId } | WriteFailure;

/** A write that the machine refused. `message` is one line for the user and says what to do. */
export interface WriteFailure {
  readonly kind: "failed";
  readonly why: WriteRefusal;
  readonly message: string;
}

export interface BlobsDep {
  readonly blobs: Blobs;
}
