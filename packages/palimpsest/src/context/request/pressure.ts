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
  readonly numbers: ResolvedSettings;
  /** The agent's, as its calls find them: who can't ask for compaction is not told to. */
  readonly tools: readonly Tool[];
}

/**
 * What to append before the next request so that the model knows how full its context is; undefined where it has been
 * told. It stands at the end of the path: the cached prefix stays as it is. Looks at the view only where a band is
 * reached, and then at what came since it looked last; a fork is never told.
 */
export function nextPressureDraft(conversation: Conversation, { numbers, tools }: PressureInput): Draft | undefined {
  const { cache } = conversation;
  const { usedTokens, editable } = conversation.line;
  if (editable === undefined || !canAskToCompact({ numbers, tools })) return undefined;
  const limitTokens = numbers.thresholds.limit;
  const band = findBand({ usedTokens, limitTokens });
  if (band === undefined || band <= (lastAnnouncedBand(editable.fold, cache?.view) ?? 0)) return undefined;
  return pressureDraft({ band, usedTokens, limitTokens, autoCompact: numbers.autoCompact });
}

const canAskToCompact = ({ numbers, tools }: PressureInput): boolean =>
  numbers.switches["compact.agent"].value && tools.some(({ name }) => name === compactToolName);

/** The highest one: whoever comes to several at once is told of the last. */
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
 * The band that the model was told of last, as the view still shows it. What a boundary covers, and what it keeps of
 * before, says nothing of the context behind it.
 */
export function lastAnnouncedBand(
  { projection: { items }, path }: Pick<Fold, "projection" | "path">,
  view = new ViewMemory(),
): PressureBand | undefined {
  const told = view.pressureIn(items);
  if (told === undefined) return undefined;
  // Kept messages stand behind the summary in the view, and before it on the path.
  const compactedAt = view.summaryIn(items)?.at ?? Number.NEGATIVE_INFINITY;
  const entry = told.at > compactedAt ? path.find(told.entry)?.entry : undefined;
  const percent = entry?.kind === "attachment" ? field(entry.attachment, "percent") : undefined;
  return pressureBandPercents.find((band) => band === percent);
}
