import { type PrefixChange, diffFrozenParts, type FrozenParts } from "palimpsest/internal/cache/baseline";
import type { EntryId } from "palimpsest/internal/schema/brand";
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
}

/** Announcements of what changed since the prefix was frozen, placed behind the conversation. */
export const changeDrafts = (changes: readonly PrefixChange[]): readonly Draft[] =>
  changes.flatMap((change) => {
    const telling = announceChange(change);
    return telling === undefined
      ? []
      : [{ type: "attachment", attachment: { type: hookContextAttachmentType, ...telling } }];
  });

/** The announcement of a change. Undefined if the model need not know of it. */
export function announceChange(change: PrefixChange): Announcement | undefined {
  const told = renderChange(change);
  if (told === undefined) return undefined;
  const of = headerPartName(change);
  return { content: escapeReminderTag(told), ...(of === undefined ? {} : { data: { tells: of } }) };
}

interface Announcement {
  readonly content: string;
  /** The mark by which the announcement is recognised as being about its part. */
  readonly data?: JsonObject;
}

/** What the view says about the header, oldest first, without what an undo or a boundary removed from it. */
export function announcementsInView({ path, projection }: Fold): readonly ShownAnnouncement[] {
  const partByEntry = new Map<EntryId, string>();
  for (const entry of path.entries) {
    if (entry.kind !== "attachment" || entry.id === undefined) continue;
    const data = field(entry.attachment, "data");
    const of = isObject(data) ? textField(data, "tells") : undefined;
    if (of !== undefined) partByEntry.set(entry.id, of);
  }
  return projection.items.flatMap(({ entry, attachment, blocks }) => {
    const [block] = blocks;
    if (attachment === undefined || block?.type !== "text") return [];
    const of = partByEntry.get(entry);
    return [{ entry, text: block.text, ...(of === undefined ? {} : { part: of }) }];
  });
}

interface ChangesToAnnounceInput {
  /** What requests carry. */
  readonly sent: FrozenParts;
  /** What was announced last, according to the log; it may have left the view since. */
  readonly told: FrozenParts;
  readonly now: FrozenParts;
  readonly tellings: readonly ShownAnnouncement[];
}

/**
 * The changes to announce so that header and view together state the current parts once. The newest announcement of a
 * part counts; if none is marked, a change since `told`, or one whose words the view does not show, is announced.
 */
export function changesToAnnounce({ sent, told, now, tellings }: ChangesToAnnounceInput): readonly PrefixChange[] {
  const since = diffFrozenParts(told, now);
  const sinceByPart = byPart(since);
  const differsByPart = byPart(diffFrozenParts(sent, now));
  const newestByPart = new Map(
    tellings.flatMap(({ part: of, text: shown }) => (of === undefined ? [] : [[of, shown] as const])),
  );
  const shown = new Set(tellings.map((telling) => telling.text));
  const parts = new Set([...sinceByPart.keys(), ...differsByPart.keys(), ...newestByPart.keys()]);
  const changes = [...parts].flatMap((part) => {
    const truths = currentStatements(part, now);
    const trueWords = truths.map((change) => reminderText(change));
    const newest = newestByPart.get(part);
    const isTold =
      newest === undefined
        ? !sinceByPart.has(part) && (!differsByPart.has(part) || trueWords.some((words) => shown.has(words)))
        : trueWords.includes(newest);
    return isTold ? [] : [sinceByPart.get(part) ?? differsByPart.get(part) ?? truths[0]];
  });
  return [
    ...since.filter((change) => headerPartName(change) === undefined),
    ...changes.flatMap((change) => change ?? []),
  ];
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
