import { z } from "zod";
import { type CompactionRequests, compactToolName } from "palimpsest/internal/ports/compaction-requests";
import type { Tool } from "palimpsest/internal/ports/tool";
import { defineTool, toolError } from "./define-tool.ts";
import { compactNoteCharsMax } from "./limits.ts";

const input = z.strictObject({
  note: z
    .string()
    .trim()
    .min(1)
    .max(compactNoteCharsMax)
    .describe(
      `To yourself, at most ${compactNoteCharsMax} characters: where you stand, what comes next, what must not be forgotten.`,
    ),
});

/** Only records the request: the conversation can't be compacted while a call runs. */
export const compactTool = ({ compactionRequests }: { readonly compactionRequests: CompactionRequests }): Tool =>
  defineTool({
    name: compactToolName,
    description:
      "Have the conversation so far replaced by a summary, before your next reply. Call it alone, when a piece of work is done and its details are no longer needed. Your note stands word for word behind the summary.",
    input,
    effect: "write",
    plan: async ({ note }) => ({
      kind: "ready",
      acts: [{ kind: "state", what: "compaction" }],
      run: async () => {
        const outcome = compactionRequests.request(note);
        switch (outcome.kind) {
          case "taken":
            return { content: acceptedText, summary: "compaction asked for" };
          case "refused":
            return toolError(outcome.why);
        }
      },
    }),
  });

const acceptedText =
  "Compaction comes before the next request; this note, in place of any earlier one, will stand behind the summary.";
