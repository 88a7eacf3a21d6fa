import { shownKey, type ShownMemories } from "../../memory/directory/relevant-memories.ts";
import { entryId } from "../../schema/brand.ts";
import { field, isArray, type JsonObject, textField } from "../../schema/json.ts";
import type { Session } from "../../session/session.ts";
import { escapeReminderTag, memoriesAttachmentType } from "../../transcript/attachment-text.ts";
import type { Draft } from "../../transcript/draft.ts";
import type { Fold } from "../../transcript/fold.ts";
import type { MemorySession, RelevantMemories } from "./context-memory.ts";
import { collectTrustSources } from "../../memory/trust-sources.ts";

/** A session as its memory sees it. */
export function createMemorySession(session: Pick<Session, "id" | "leaf" | "fold">): MemorySession {
  return {
    id: session.id,
    leaf: () => session.leaf,
    sources: () => collectTrustSources(session.fold.path.entries),
    shown: () => readShownMemories(session.fold),
    isInView: (entry) => session.fold.projection.items.some((item) => item.entry === entryId(entry)),
  };
}

/** The attachment that shows memories to the model. It names them, so that they are not shown again. */
export const draftMemories = (relevant: RelevantMemories): Draft => ({
  type: "attachment",
  attachment: {
    type: memoriesAttachmentType,
    memories: relevant.memories.map(shownKey),
    content: escapeReminderTag(relevant.text),
  },
});

/** What the view shows decides what is shown already: what a boundary covers may be shown again. The budget is the session's. */
function readShownMemories({ path, projection }: Pick<Fold, "path" | "projection">): ShownMemories {
  const inView = new Set(projection.items.map(({ entry }) => entry));
  const keys = new Set<string>();
  let bytes = 0;
  for (const entry of path.entries) {
    if (entry.kind !== "attachment" || textField(entry.attachment, "type") !== memoriesAttachmentType) continue;
    bytes += Buffer.byteLength(textField(entry.attachment, "content") ?? "");
    if (entry.id !== undefined && inView.has(entry.id)) for (const key of shownKeys(entry.attachment)) keys.add(key);
  }
  return { keys, bytes };
}

function shownKeys(attachment: JsonObject): readonly string[] {
  const keys = field(attachment, "memories");
  return isArray(keys) ? keys.filter((key) => typeof key === "string") : [];
}
