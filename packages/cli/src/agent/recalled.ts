import type { EngineDeps } from "../host/engine.ts";
import { expand } from "palimpsest/internal/session/expand";
import type { Session } from "palimpsest/internal/session/session";
import { humanBytes } from "palimpsest/internal/schema/human-bytes";
import { isArray, isObject, type Json, parsedOrUndefined } from "palimpsest/internal/schema/json";
import { imageHeader } from "palimpsest/internal/tokens/image-header";
import type { Expanded, RecalledMedium } from "../tool/recall.ts";
import { isMedium, type Medium, mediumKey, refusedMedia } from "./refused-media.ts";

export interface RecallInput {
  readonly deps: Pick<EngineDeps, "blobs" | "transcripts">;
  readonly session: Pick<Session, "id" | "fold">;
  readonly id: string;
}

/**
 * What an id stands for, as the model is shown it: text as text, images and documents as what they are. One that the provider
 * refused when it was recalled before is described in words.
 */
export async function recalled({ deps, session, id }: RecallInput): Promise<Expanded> {
  const source = await deps.transcripts.openForReading(session.id);
  if (source === undefined) return { kind: "missing", why: "the transcript can't be read" };
  try {
    const found = await expand(deps, source, id);
    const refused = refusedMedia(session.fold.path.entries);
    switch (found.kind) {
      case "entry":
        return withMedia(decoded(found.bytes), refused);
      case "result":
        return found.form === "json" ? withMedia(decoded(found.bytes), refused) : foundText(decoded(found.bytes));
      case "blob":
        return imageIn(found.bytes, refused) ?? foundText(decoded(found.bytes));
      case "not-found":
        return { kind: "missing", why: "nothing has this id" };
      case "ambiguous":
        return { kind: "missing", why: `several ids begin like this: ${found.candidates.slice(0, 5).join(", ")}` };
      case "unanswered":
        return { kind: "missing", why: "the call has no result" };
      case "blob-missing":
        return { kind: "missing", why: "its content is no longer on disk" };
    }
  } finally {
    await source.close();
  }
}

const decoded = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
const foundText = (text: string): Expanded => ({ kind: "found", text, media: [] });

/** The JSON of blocks, or of an entry with blocks, in which each image and document is named and stands apart. */
function withMedia(json: string, refused: ReadonlySet<string>): Expanded {
  const value = parsedOrUndefined(json);
  if (value === undefined) return foundText(json);
  const mark = unusedMark(JSON.stringify(value));
  const blocks: Medium[] = [];
  const marked = markMedia(value, { mark, blocks });
  if (blocks.length === 0) return foundText(json);
  const [head = "", ...tails] = JSON.stringify(marked, null, 2).split(mark);
  const media: RecalledMedium[] = [];
  let text = head;
  for (const [index, block] of blocks.entries()) {
    const name = `${block.type} ${index + 1}`;
    const isRefused = refused.has(mediumKey(block));
    if (!isRefused) media.push({ block, at: text.length });
    text += isRefused ? `[${[name, ...describe(block), notShown].join(", ")}]` : `[${name}, shown below]`;
    text += tails[index] ?? "";
  }
  return { kind: "found", text, media };
}

/** What the JSON does not hold. A name would not do: an earlier recall may be quoted in it. */
function unusedMark(json: string): string {
  let mark = privateUse;
  while (json.includes(mark)) mark += privateUse;
  return mark;
}

const privateUse = "\uE000";

interface MediaMarks {
  readonly mark: string;
  /** Those found, in the order of their marks. */
  readonly blocks: Medium[];
}

function markMedia(value: Json, marking: MediaMarks): Json {
  if (isArray(value)) return value.map((one) => markMedia(one, marking));
  if (!isObject(value)) return value;
  if (isMedium(value)) {
    marking.blocks.push(value);
    return marking.mark;
  }
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, markMedia(inner, marking)]));
}

const notShown = "not shown: the provider refused it when it was recalled before";

/** What can be said of it without showing it: nothing of one that stands elsewhere. */
function describe({ source }: Medium): readonly string[] {
  const data = isObject(source) ? source["data"] : undefined;
  if (typeof data !== "string") return [];
  const header = imageHeader(data);
  const size = humanBytes(Buffer.byteLength(data, "base64"));
  return header === undefined
    ? [size]
    : [header.format.toUpperCase(), `${header.width} × ${header.height} pixels`, size];
}

/** An image that was kept by itself, under the type that it is of: as it came it may have been declared otherwise. */
function imageIn(bytes: Uint8Array, refused: ReadonlySet<string>): Expanded | undefined {
  const data = Buffer.from(bytes).toString("base64");
  const header = imageHeader(data);
  if (header === undefined) return undefined;
  const block: Medium = { type: "image", source: { type: "base64", media_type: `image/${header.format}`, data } };
  const isRefused = refused.has(mediumKey(block));
  const text = `[${[...describe(block), isRefused ? notShown : "shown below"].join(", ")}]`;
  return { kind: "found", text, media: isRefused ? [] : [{ block, at: 0 }] };
}
