import { hash } from "node:crypto";
import { type PrefixChange, diffFrozenParts, type FrozenParts } from "palimpsest/internal/cache/baseline";
import type { EntryId } from "palimpsest/internal/schema/brand";
import type { Entry } from "palimpsest/internal/schema/entry";
import { field, isObject, type JsonObject, textField } from "palimpsest/internal/schema/json";
import {
  wrapReminder,
  hookContextAttachmentType,
  escapeReminderTag,
} from "palimpsest/internal/transcript/attachment-text";
import type { Draft } from "palimpsest/internal/transcript/draft";
import type { Fold } from "palimpsest/internal/transcript/fold";
import { renderChange } from "./render-change.ts";

/** A text in the view that may announce a part of the header. */
export interface ShownAnnouncement {
  readonly entry: EntryId;
  /** As the view shows it. */
  readonly text: string;
  /** The part that it announces; absent if the entry was not read or has no mark. */
  readonly part?: string;
  /** Of the part as it was announced; absent in announcements that state it whole and were written without it. */
  readonly hash?: string;
}

/** Announcements of what changed since the prefix was frozen, placed behind the conversation. */
export const changeDrafts = (changes: readonly PrefixChange[]): readonly Draft[] =>
  changes.flatMap((change) => {
    const announcement = announceChange(change);
    return announcement === undefined
      ? []
      : [{ type: "attachment", attachment: { type: hookContextAttachmentType, ...announcement } }];
  });

/** The announcement of a change. Undefined if the model need not know of it. */
export function announceChange(change: PrefixChange): Announcement | undefined {
  const text = renderChange(change);
  if (text === undefined) return undefined;
  const part = headerPartName(change);
  return {
    content: escapeReminderTag(text),
    ...(part === undefined ? {} : { data: { tells: part, hash: hashChange(change) } }),
  };
}

/** An announcement of a change may only state the difference: this tells which state of the part it led to. */
function hashChange(change: PrefixChange): string {
  switch (change.kind) {
    case "tool-added":
    case "tool-changed":
      return hash("sha256", JSON.stringify(change.tool));
    case "system-added":
    case "system-changed":
      return hashText(change.piece.text);
    case "tool-removed":
    case "system-removed":
    case "model":
    case "thinking":
    case "betas":
    case "tools-reordered":
    case "system-reordered":
      return absentHash;
  }
}

export const hashText = (text: string): string => hash("sha256", text);
const absentHash = "absent";

interface Announcement {
  readonly content: string;
  /** The mark by which the announcement is recognised as being about its part. */
  readonly data?: JsonObject;
}

/** What the view says about the header, oldest first, without what an undo or a boundary removed from it. */
export function announcementsInView({ path, projection }: Fold): readonly ShownAnnouncement[] {
  return projection.items.flatMap(({ entry, attachment, blocks }) => {
    const [block] = blocks;
    if (attachment === undefined || block?.type !== "text") return [];
    return [{ entry, text: block.text, ...readMark(path.find(entry)?.entry) }];
  });
}

function readMark(entry: Entry | undefined): Pick<ShownAnnouncement, "part" | "hash"> {
  const data = entry?.kind === "attachment" ? field(entry.attachment, "data") : undefined;
  const part = isObject(data) ? textField(data, "tells") : undefined;
  if (!isObject(data) || part === undefined) return {};
  const stated = textField(data, "hash");
  return { part, ...(stated === undefined ? {} : { hash: stated }) };
}

interface ChangesToAnnounceInput {
  /** What requests carry. */
  readonly sent: FrozenParts;
  /** What was announced last, according to the log; it may have left the view since. */
  readonly announced: FrozenParts;
  readonly now: FrozenParts;
  readonly announcements: readonly ShownAnnouncement[];
}

/**
 * The changes to announce so that header and view together state each current part once. For each part, the newest
 * announcement in the view counts. If no announcement is marked with the part, its change is announced if it happened
 * after `announced`, or if the view does not show its text.
 */
export function changesToAnnounce({
  sent,
  announced,
  now,
  announcements,
}: ChangesToAnnounceInput): readonly PrefixChange[] {
  const since = diffFrozenParts(announced, now);
  const sinceByPart = byPart(since);
  const differsByPart = byPart(diffFrozenParts(sent, now));
  const newestByPart = new Map(
    announcements.flatMap((announcement) =>
      announcement.part === undefined ? [] : [[announcement.part, announcement] as const],
    ),
  );
  const shown = new Set(announcements.map(({ text }) => text));
  const parts = new Set([...sinceByPart.keys(), ...differsByPart.keys(), ...newestByPart.keys()]);
  const changes = [...parts].flatMap((part) => {
    const statements = currentStatements(part, now);
    const texts = statements.map((change) => reminderText(change));
    const newest = newestByPart.get(part);
    const isAnnounced =
      newest === undefined
        ? !sinceByPart.has(part) && (!differsByPart.has(part) || texts.some((text) => shown.has(text)))
        : states(newest, statements);
    if (isAnnounced) return [];
    const change = sinceByPart.get(part) ?? differsByPart.get(part) ?? statements[0];
    return change === undefined ? [] : [withKnownBase(change, { known: newest, sent, announced })];
  });
  return [...since.filter((change) => headerPartName(change) === undefined), ...changes];
}

/** Whether an announcement led to the state that the statements are about. */
const states = ({ hash: stated, text }: ShownAnnouncement, statements: readonly PrefixChange[]): boolean =>
  stated === undefined
    ? statements.some((change) => reminderText(change) === text)
    : statements.some((change) => hashChange(change) === stated);

interface KnownBase extends Pick<ChangesToAnnounceInput, "sent" | "announced"> {
  /** The newest announcement of the part in the view; absent: the model knows what was sent. */
  readonly known: ShownAnnouncement | undefined;
}

/** The difference is stated against the text that the model knows. If that is not at hand, the new text is stated whole. */
function withKnownBase(change: PrefixChange, { known, sent, announced }: KnownBase): PrefixChange {
  if (change.kind !== "system-changed" && change.kind !== "system-added") return change;
  const { piece } = change;
  const texts = [sent, announced].flatMap(({ system }) =>
    system.flatMap(({ name, text }) => (name === piece.name ? [text] : [])),
  );
  const before =
    known === undefined
      ? sent.system.find(({ name }) => name === piece.name)?.text
      : texts.find((text) => hashText(text) === known.hash);
  if (before === undefined && change.kind === "system-added") return change;
  return { kind: "system-changed", piece, before: before ?? "" };
}

const byPart = (changes: readonly PrefixChange[]): ReadonlyMap<string, PrefixChange> =>
  new Map(
    changes.flatMap((change) =>
      [headerPartName(change)].flatMap((part) => (part === undefined ? [] : [[part, change]])),
    ),
  );

const reminderText = (change: PrefixChange): string => wrapReminder(announceChange(change)?.content ?? "");

/** Each way to state how a part is now; the first holds whatever was said before. */
function currentStatements(part: string, { tools, system }: FrozenParts): readonly PrefixChange[] {
  const tool = tools.find(({ name }) => toolPart(name) === part);
  if (tool !== undefined)
    return [
      { kind: "tool-changed", tool },
      { kind: "tool-added", tool },
    ];
  const piece = system.find(({ name }) => systemPart(name) === part);
  if (piece !== undefined)
    return [
      { kind: "system-changed", piece, before: "" },
      { kind: "system-added", piece },
    ];
  const name = part.slice(part.indexOf(" ") + 1);
  return [part === toolPart(name) ? { kind: "tool-removed", name } : { kind: "system-removed", name }];
}

const toolPart = (name: string): string => `tool ${name}`;
const systemPart = (name: string): string => `system ${name}`;

function headerPartName(change: PrefixChange): string | undefined {
  switch (change.kind) {
    case "tool-added":
    case "tool-changed":
      return toolPart(change.tool.name);
    case "tool-removed":
      return toolPart(change.name);
    case "system-added":
    case "system-changed":
      return systemPart(change.piece.name);
    case "system-removed":
      return systemPart(change.name);
    case "model":
    case "thinking":
    case "betas":
    case "tools-reordered":
    case "system-reordered":
      return undefined;
  }
}
