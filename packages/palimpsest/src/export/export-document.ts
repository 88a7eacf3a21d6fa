import type { ReceiptClass } from "../schema/receipt.ts";
import type { ResultContent } from "../schema/block.ts";
import type { BlobId, EntryId } from "../schema/brand.ts";
import type { Entry } from "../schema/entry.ts";
import type { JsonObject } from "../schema/json.ts";
import type { Damage, LoggedEntry } from "../transcript/read-lines.ts";

/**
 * A session in readable form. Markdown and HTML are rendered from it, so that both have the same content. Texts are
 * unescaped, as in the log; each renderer escapes them.
 */
export interface ExportDocument {
  readonly title: string;
  /** Pairs of label and value. */
  readonly header: readonly (readonly [string, string])[];
  readonly parts: readonly Part[];
  /** Sub-agents whose call is not in the log. */
  readonly sidechains: readonly Sidechain[];
  /** Parts of the conversation that are off the path. */
  readonly branches: readonly Branch[];
  readonly damage: readonly string[];
}

export type Part = MessagePart | EditPart | BoundaryPart | AttachmentPart | NotePart;

export interface MessagePart {
  readonly kind: "message";
  /** `engine`: a user message that the user did not write. */
  readonly who: "user" | "assistant" | "engine";
  readonly id: string;
  readonly at: string;
  readonly model?: string;
  readonly blocks: readonly DocumentBlock[];
}

/** A mark at which the view changed. */
export interface EditPart {
  readonly kind: "edit";
  readonly name: string;
  readonly id: string;
  readonly at: string;
  readonly state: "in force" | "undone";
  readonly what: string;
  readonly receipt?: ReceiptTotals;
}

export interface BoundaryPart {
  readonly kind: "boundary";
  readonly id: string;
  readonly at: string;
  readonly state: "in force" | "undone";
  readonly what: string;
  readonly summary: string;
  readonly receipt?: ReceiptTotals;
}

export interface AttachmentPart {
  readonly kind: "attachment";
  readonly name: string;
  readonly at: string;
  readonly text: string;
}

/** A text that a client showed to the user: an error, a line of the system. */
export interface NotePart {
  readonly kind: "note";
  readonly at: string;
  readonly text: string;
}

/** The totals in the log line of an edit. */
export interface ReceiptTotals {
  readonly cause?: string;
  readonly tokensBefore?: number;
  readonly tokensAfter?: number;
  readonly breakEvenRounds?: number;
  readonly entries: readonly (readonly [ReceiptClass, number])[];
}

export type DocumentBlock =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "thinking"; readonly text: string }
  | CallBlock
  | ResultBlock
  | MediaBlock
  | { readonly kind: "other"; readonly name: string; readonly text: string };

export interface CallBlock {
  readonly kind: "call";
  readonly id: string;
  readonly name: string;
  readonly input: string;
  readonly result: ResultBlock | undefined;
  readonly sidechains: readonly Sidechain[];
}

export interface ResultBlock {
  readonly kind: "result";
  readonly id: string;
  readonly isError: boolean;
  readonly content: readonly ResultPart[];
  /** The texts that the model sees instead, one for each edit. */
  readonly shown: readonly ShownInstead[];
  /** Present if the full result is in a blob that could not be read. */
  readonly missingBlob?: string;
}

export type ResultPart = { readonly kind: "text"; readonly text: string } | MediaBlock;

export interface ShownInstead {
  readonly by: string;
  readonly state: "in force" | "undone";
  readonly text: string;
}

/** An image or a document. `href` is absent if it was not written to a file. */
export interface MediaBlock {
  readonly kind: "media";
  readonly name: "image" | "document";
  readonly mediaType: string;
  readonly href?: string;
  readonly bytes?: number;
}

export interface Sidechain {
  readonly name: string;
  readonly parts: readonly Part[];
}

export interface Branch {
  /** The id of the entry at which it leaves the path. */
  readonly from: string;
  readonly parts: readonly Part[];
}

export type FormatMode = "full" | "plain";

/** One entry of a log with its raw fields, because an export shows more than the view needs. */
export interface SourceLine extends LoggedEntry {
  readonly raw: JsonObject;
}

/** A log with everything that a document is built from. */
export interface SourceLog {
  /** The session's id, or the file's name. */
  readonly name: string;
  readonly origin: "ours" | "foreign";
  /** The tool that wrote it, if it is another tool and known. */
  readonly format: string | undefined;
  /** In file order, including sidechains. */
  readonly lines: readonly SourceLine[];
  readonly path: readonly Entry[];
  readonly isOnPath: (id: EntryId) => boolean;
  readonly undone: ReadonlySet<EntryId>;
  readonly problems: readonly string[];
  readonly damage: readonly Damage[];
  /** Contents of offloaded results whose blob could be read. */
  readonly originals: ReadonlyMap<BlobId, ResultContent>;
  /** Logs of sub-agents, which are stored next to the session's log. */
  readonly agents: readonly { readonly name: string; readonly lines: readonly SourceLine[] }[];
}

export interface Media {
  readonly mediaType: string;
  readonly base64: string;
}

export interface DocumentOptions {
  readonly mode: FormatMode;
  /** Stores an image or document and returns its `href`; undefined if it is only mentioned. */
  readonly place: (media: Media) => string | undefined;
}
