import { z } from "zod";
import { cacheEdits, type ExtensionReply, type CacheEditsReport } from "palimpsest/internal/schema/wire/extension";
import { formatCount, plural } from "palimpsest/internal/text/format-count";
import type { JsonObject } from "palimpsest/internal/schema/json";

const count = z.int().nonnegative();

/** In a reply's trace line: what became of the results that the request deletes in the cache by reference. */
export const deletionsLine = {
  cacheEdits: z
    .object({ applied: z.array(z.string()), ignored: z.array(z.string()), deleted_input_tokens: count })
    .optional(),
};

type DeletionsLine = z.infer<z.ZodObject<typeof deletionsLine>>;

export const deletionsForTrace = ({ cache_edits: report }: ExtensionReply): DeletionsLine =>
  report === undefined ? {} : { cacheEdits: copyReport(report) };

const copyReport = ({ applied, ignored, ...tokens }: CacheEditsReport): NonNullable<DeletionsLine["cacheEdits"]> => ({
  applied: [...applied],
  ignored: [...ignored],
  ...tokens,
});

/** As the command line lists it. */
export interface DeletionsListed {
  readonly cacheEdits: NonNullable<DeletionsLine["cacheEdits"]> | null;
}

export const deletionsListed = (reply: DeletionsLine | undefined): DeletionsListed => ({
  cacheEdits: reply?.cacheEdits ?? null,
});

/** In a few words; empty if the request deletes nothing. */
export function deletionsText({ cacheEdits: report }: DeletionsListed): readonly string[] {
  if (report === null) return [];
  const { applied, ignored, deleted_input_tokens: deleted } = report;
  const others = ignored.length === 0 ? "" : `, ${formatCount(ignored.length)} not there`;
  return [
    `deleted ${formatCount(applied.length)} ${plural(applied.length, "result")}, ${formatCount(deleted)} tokens${others}`,
  ];
}

interface WithheldResults {
  /** Ids of the calls whose results were left out of what was read. */
  readonly applied: readonly string[];
  /** Ids that were asked for but not found. */
  readonly ignored: readonly string[];
  readonly tokens: number;
}

/** Results withheld by the request that this reply answers. */
export function findWithheld(reply: DeletionsLine | undefined): WithheldResults {
  const { applied = [], ignored = [], deleted_input_tokens: tokens = 0 } = reply?.cacheEdits ?? {};
  return { applied, ignored, tokens };
}

/** Whether the request no longer deletes something that the previous reply left out. */
export function releasesDeletion(before: DeletionsLine | undefined, params: JsonObject): boolean {
  const { applied } = findWithheld(before);
  if (applied.length === 0) return false;
  const read = cacheEdits.safeParse(params["cache_edits"]);
  const named = new Set(read.success ? read.data.deletions.map(({ tool_use_id: id }) => id) : []);
  return applied.some((id) => !named.has(id));
}
