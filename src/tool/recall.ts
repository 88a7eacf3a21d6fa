import { z } from "zod";
import type { Tool } from "../ports/tools.ts";
import { countWords } from "./count-words.ts";
import { defineTool, failed } from "./define.ts";
import { recallCharsDefault, recallCharsMax } from "./limits.ts";

export interface RecallDeps {
  /** The original text of an entry, a call's result or a blob. */
  readonly expand: (id: string) => Promise<Expanded>;
}

export type Expanded =
  | { readonly kind: "found"; readonly text: string }
  | { readonly kind: "missing"; readonly why: string };

const input = z.strictObject({
  id: z.string().min(1).describe("Of an entry, a tool call or a blob, as a marker or preview names it."),
  offset: z.int().min(0).max(1_000_000_000).optional().describe("First character, from 0."),
  limit: z.int().min(1).max(recallCharsMax).optional().describe(`Characters; ${recallCharsDefault} by default.`),
});

export const recallTool = ({ expand }: RecallDeps): Tool =>
  defineTool({
    name: "recall",
    description: "Get back by its id what was offloaded, cleared or summarised in this conversation, in pages.",
    input,
    effect: "read",
    offload: "never",
    plan: async ({ id, offset = 0, limit = recallCharsDefault }) => ({
      kind: "ready",
      acts: [],
      run: async () => {
        const found = await expand(id);
        if (found.kind === "missing") return failed(`${id}: ${found.why}`);
        const { text } = found;
        if (offset > 0 && offset >= text.length)
          return failed(`${id}: it has only ${countWords(text.length, "character")}`);
        const to = pageEnd(text, offset + limit);
        const more =
          to < text.length ? `\n(characters ${offset} to ${to} of ${text.length}; go on with offset ${to})` : "";
        return { content: text.slice(offset, to) + more, summary: `characters ${offset} to ${to} of ${text.length}` };
      },
    }),
  });

/** Not between the halves of a character. */
function pageEnd(text: string, wanted: number): number {
  const end = Math.min(wanted, text.length);
  const isSplit = end < text.length && /[\uD800-\uDBFF]/.test(text.charAt(end - 1));
  return isSplit ? end + 1 : end;
}
