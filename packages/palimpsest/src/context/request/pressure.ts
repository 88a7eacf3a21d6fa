import type { Tool } from "../../ports/tool.ts";
import { field } from "../../schema/json.ts";
import { pressureAttachmentType } from "../../transcript/attachment-text.ts";
import type { ResolvedSettings } from "../../settings/resolved-settings.ts";
import { compactToolName } from "../../ports/compaction-requests.ts";
import type { Draft } from "../../transcript/draft.ts";
import type { Fold } from "../../transcript/fold.ts";
import { pressureBandPercents } from "../limits.ts";
import type { Conversation } from "../conversation.ts";
import { type PressureBand, type PressureFigures, pressureText } from "./pressure-text.ts";
import { ViewMemory } from "./view-memory.ts";

interface PressureInput {
  readonly settings: ResolvedSettings;
  /** The agent's tools: an agent that can't request compaction gets no reminder. */
  readonly tools: readonly Tool[];
}

/**
 * The reminder to append before the next request so that the model knows how full its context is; undefined if it already
 * knows. It is appended to the end of the path, so that the cached prefix stays valid. Reads the view only if a band is
 * reached, and then only what is new since the last time. A fork gets no reminder.
 */
export function nextPressureDraft(conversation: Conversation, { settings, tools }: PressureInput): Draft | undefined {
  const { cache } = conversation;
  const { usedTokens, editable } = conversation.line;
  if (editable === undefined || !canAskToCompact({ settings, tools })) return undefined;
  const limitTokens = settings.thresholds.limit;
  const band = findBand({ usedTokens, limitTokens });
  if (band === undefined || band <= (lastAnnouncedBand(editable.fold, cache?.view) ?? 0)) return undefined;
  return pressureDraft({ band, usedTokens, limitTokens, autoCompact: settings.autoCompact });
}

const canAskToCompact = ({ settings, tools }: PressureInput): boolean =>
  settings.switches["compact.agent"].value && tools.some(({ name }) => name === compactToolName);

/** The highest band that is reached: if several are reached at once, only the last is announced. */
export function findBand({
  usedTokens,
  limitTokens,
}: Pick<PressureFigures, "usedTokens" | "limitTokens">): PressureBand | undefined {
  return pressureBandPercents.findLast((percent) => usedTokens * 100 >= limitTokens * percent);
}

const pressureDraft = (figures: PressureFigures): Draft => ({
  type: "attachment",
  attachment: { type: pressureAttachmentType, percent: figures.band, content: pressureText(figures) },
});

/**
 * The band that was announced last and is still in the view. An announcement from before a boundary, covered or kept, says
 * nothing about the context after it.
 */
export function lastAnnouncedBand(
  { projection: { items }, path }: Pick<Fold, "projection" | "path">,
  view = new ViewMemory(),
): PressureBand | undefined {
  const announcement = view.pressureIn(items);
  if (announcement === undefined) return undefined;
  // Kept messages follow the summary in the view, and precede it on the path.
  const compactedAt = view.summaryIn(items)?.at ?? Number.NEGATIVE_INFINITY;
  const entry = announcement.at > compactedAt ? path.find(announcement.entry)?.entry : undefined;
  const percent = entry?.kind === "attachment" ? field(entry.attachment, "percent") : undefined;
  return pressureBandPercents.find((band) => band === percent);
}
