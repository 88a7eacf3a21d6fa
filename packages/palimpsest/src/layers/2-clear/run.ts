import type { Blobs, BlobsDep } from "../../ports/blobs.ts";
import type { ResultContent } from "../../schema/block.ts";
import { type BlobId, type Bytes, bytes, type EntryId, type SessionId, type ToolUseId } from "../../schema/brand.ts";
import { plainClearMarker } from "../../schema/edit.ts";
import type { Draft } from "../../transcript/draft.ts";
import { namedMarker } from "./marker.ts";

export interface ClearedResult {
  readonly toolUse: ToolUseId;
  readonly content: ResultContent;
}

export interface ClearRun {
  readonly session: SessionId;
  readonly results: readonly ClearedResult[];
  readonly marker: "plain" | "named";
  readonly readingTool: string | undefined;
  readonly cause: "size" | "idle" | "price" | "asked";
  readonly because: string;
  /** Memories that go along. */
  readonly attachments: readonly EntryId[];
  readonly tokensBefore: number;
  readonly tokensSaved: number;
  /** The planner's arithmetic, where it has one. */
  readonly price?: object | undefined;
  /** Items whose thinking was made behind what is cleared, where the model takes none of that. */
  readonly dropsThinking?: { readonly from: EntryId; readonly to: EntryId } | undefined;
}

export interface ClearDraft {
  readonly draft: Draft;
  /** Results that the disk refused: they show the plain marker, and the transcript alone still holds them. */
  readonly unsaved: readonly ToolUseId[];
}

/** An item of the edit. */
interface Replaced {
  readonly toolUse: ToolUseId;
  readonly blob?: BlobId;
  readonly media?: "text" | "json";
  readonly bytes: Bytes;
  readonly shown: string;
}

/**
 * The edit by which results leave the view. Each is saved first, so that the model can read it where its marker says. Must
 * not reject for a disk that refuses: what can't be saved shows the plain marker.
 */
export async function clearDraft(deps: BlobsDep, run: ClearRun): Promise<ClearDraft> {
  const { results, attachments, cause, because, price, dropsThinking } = run;
  const replaced: Replaced[] = [];
  for (const result of results) replaced.push(await replacedBy(deps, { result, run }));
  const unsaved = run.marker === "plain" ? [] : replaced.filter(({ blob }) => blob === undefined);
  return {
    unsaved: unsaved.map(({ toolUse }) => toolUse),
    draft: {
      type: "clear",
      results: replaced,
      attachments,
      cause,
      tokensBefore: Math.round(run.tokensBefore),
      tokensSaved: Math.round(run.tokensSaved),
      because,
      ...(price === undefined ? {} : { price }),
      ...(dropsThinking === undefined ? {} : { dropsThinking }),
    },
  };
}

interface Replacing {
  readonly result: ClearedResult;
  readonly run: ClearRun;
}

async function replacedBy({ blobs }: BlobsDep, { result, run }: Replacing): Promise<Replaced> {
  const { toolUse, content } = result;
  const { session, readingTool } = run;
  const { data, media } = formOf(content);
  const size = bytes(data.byteLength);
  const plain = { toolUse, bytes: size, shown: plainClearMarker };
  if (run.marker === "plain") return plain;
  const saved = await savedAs(blobs, { data, media, session, toolUse });
  if (saved === undefined) return plain;
  const shown = namedMarker({ toolUse, bytes: size, path: saved.path, readingTool });
  return { toolUse, blob: saved.blob, media, bytes: size, shown };
}

interface Saving extends Form {
  readonly session: SessionId;
  readonly toolUse: ToolUseId;
}

async function savedAs(
  blobs: Blobs,
  { data, media, session, toolUse }: Saving,
): Promise<{ readonly blob: BlobId; readonly path: string | undefined } | undefined> {
  const put = await blobs.put(data);
  if (put.kind === "failed") return undefined;
  return { blob: put.id, path: await blobs.link?.({ blob: put.id, session, toolUse, media }) };
}

interface Form {
  readonly data: Uint8Array;
  readonly media: "text" | "json";
}

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Half a surrogate pair has no bytes of its own in UTF-8; JSON can spell it. */
function formOf(content: ResultContent): Form {
  if (typeof content !== "string") return { media: "json", data: encode(JSON.stringify(content, null, 2)) };
  if (content.isWellFormed()) return { media: "text", data: encode(content) };
  return { media: "json", data: encode(JSON.stringify([{ type: "text", text: content }], null, 2)) };
}
