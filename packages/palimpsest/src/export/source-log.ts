import type { ResultContent } from "../schema/block.ts";
import type { BlobId, EntryId } from "../schema/brand.ts";
import type { Entry } from "../schema/entry.ts";
import type { JsonObject } from "../schema/json.ts";
import type { Damage, Logged } from "../transcript/lines.ts";
import type { FormatMode } from "./document.ts";

/** One entry of a log with its raw fields: an export tells of more than the view needs. */
export interface SourceLine extends Logged {
  readonly raw: JsonObject;
}

/** A log as a document is made from it. */
export interface SourceLog {
  /** The session's id, or the file's name. */
  readonly name: string;
  readonly origin: "ours" | "foreign";
  /** The tool that wrote it, where it is another's and known. */
  readonly format: string | undefined;
  /** In file order, sidechains included. */
  readonly lines: readonly SourceLine[];
  readonly path: readonly Entry[];
  readonly isOnPath: (id: EntryId) => boolean;
  readonly undone: ReadonlySet<EntryId>;
  readonly problems: readonly string[];
  readonly damage: readonly Damage[];
  /** Contents of offloaded results whose blob could be read. */
  readonly originals: ReadonlyMap<BlobId, ResultContent>;
  /** Logs of sub-agents that lie beside the session's. */
  readonly agents: readonly { readonly name: string; readonly lines: readonly SourceLine[] }[];
}

export interface Media {
  readonly mediaType: string;
  readonly base64: string;
}

export interface DocumentOptions {
  readonly mode: FormatMode;
  /** Where an image or document goes; undefined where it stays a reference. */
  readonly place: (media: Media) => string | undefined;
}
