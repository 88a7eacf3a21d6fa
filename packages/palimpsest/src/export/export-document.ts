import type { ReceiptClass } from "../schema/receipt.ts";
import type { ResultContent } from "../schema/block.ts";
import type { BlobId, EntryId } from "../schema/brand.ts";
import type { Entry } from "../schema/entry.ts";
import type { JsonObject } from "../schema/json.ts";
import type { Damage, LoggedEntry } from "../transcript/read-lines.ts";

/**
 * A session as a person reads it: what Markdown and HTML are written from, so that both say the same. Every text is as
 * the log holds it; escaping is each renderer's own business.
 */
export interface ExportDocument {
  readonly title: string;
  /** Label and value, in order. */
  readonly header: readonly (readonly [string, string])[];
  readonly parts: readonly Part[];
  /** Sub-agents whose call is not in the log. */
  readonly sidechains: readonly Sidechain[];
  /** Lines of the conversation that the path left. */
  readonly branches: readonly Branch[];
  readonly damage: readonly string[];
}

export type Part = MessagePart | EditPart | BoundaryPart | AttachmentPart | NotePart;

export interface MessagePart {
  readonly kind: "message";
  /** `engine`: in the user's turn, but no person wrote it. */
  readonly who: "user" | "assistant" | "engine";
  readonly id: string;
  readonly at: string;
  readonly model?: string;
  readonly blocks: readonly DocumentBlock[];
}

/** A visible mark where the view changed. */
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

/** What a client wrote for people: an error, a line of the system. */
export interface NotePart {
  readonly kind: "note";
  readonly at: string;
  readonly text: string;
}

/** The totals that an edit's line holds. */
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
  /** What the model sees instead, edit by edit. */
  readonly shown: readonly ShownInstead[];
  /** Present where the whole is in a blob that could not be read. */
  readonly missingBlob?: string;
}

export type ResultPart = { readonly kind: "text"; readonly text: string } | MediaBlock;

export interface ShownInstead {
  readonly by: string;
  readonly state: "in force" | "undone";
  readonly text: string;
}

/** An image or a document. `href` is absent where it was not written to a file. */
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
  /** Where it leaves the path. */
  readonly from: string;
  readonly parts: readonly Part[];
}

export type FormatMode = "full" | "plain";

/** One entry of a log with its raw fields: an export tells of more than the view needs. */
export interface SourceLine extends LoggedEntry {
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
