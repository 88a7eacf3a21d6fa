import { z } from "zod";
import { recallNotice } from "./recall-notice.ts";
import type { SdkHooks } from "./sdk-types.ts";

interface CompactionHookDeps {
  /** Resolves when everything that was appended so far is stored or has failed. Must not reject. */
  readonly settled: () => Promise<void>;
  /** The name of the recall tool, as the model knows it. */
  readonly tool: string;
}

const sessionStart = z.object({ source: z.string(), session_id: z.string() });

/**
 * Before a compaction, what the SDK has handed over is brought to disk; behind it, the model is told how to get back what
 * the summary left out. `PreCompact` also fires when no compaction follows, so nothing is recorded there: the receipt is
 * computed from the boundary in the transcript.
 */
export const compactionHooks = ({ settled, tool }: CompactionHookDeps): SdkHooks => ({
  PreCompact: [
    {
      hooks: [
        async () => {
          await settled();
          return {};
        },
      ],
    },
  ],
  SessionStart: [
    {
      hooks: [
        async (input) => {
          const read = sessionStart.safeParse(input);
          if (!read.success || read.data.source !== "compact") return {};
          const additionalContext = recallNotice({ tool, session: read.data.session_id });
          return { hookSpecificOutput: { hookEventName: "SessionStart", additionalContext } };
        },
      ],
    },
  ],
});
