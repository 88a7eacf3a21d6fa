import { compactSizeStandIn } from "../../cache/compact-price.ts";
import type { Compactions, CompactionsInput } from "./compactions.ts";

/** Of a fixed size, whatever was said. What is new since the last reply stays, that reply included. */
export function standInCompactions({ world, policy, thresholds }: CompactionsInput): Compactions {
  const restores = policy.compact?.restores ?? "nothing";
  const size = compactSizeStandIn({ restores, windowTokens: thresholds.window });
  const { leavesTokens: summaryTokens } = compactSizeStandIn({ restores: "nothing", windowTokens: thresholds.window });
  return {
    size,
    keptTokens: (view) => view.newTokens(world.tokensOf),
    heard: () => undefined,
    make: (view, noted) =>
      noted === undefined
        ? { summary: world.standIn(size.leavesTokens), kept: view.newEntries, outputTokens: size.outputTokens }
        : {
            summary: world.standIn(noted.notesTokens + size.leavesTokens - summaryTokens),
            kept: noted.kept.map(({ entry }) => entry),
            outputTokens: 0,
          },
  };
}
