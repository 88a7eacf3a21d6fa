import type { EntryId } from "../schema/brand.ts";
import { hookContextAttachment } from "../transcript/attachment.ts";
import type { Draft } from "../transcript/draft.ts";
import { ofBoundary } from "../transcript/of-boundary.ts";

/** What a person said while the agent worked; the log keeps the words as the person's own. */
export const queuedDraft = (prompt: string): Draft => ({
  type: "attachment",
  attachment: { type: "queued_command", prompt },
});

/** What a hook wants the model to know. `boundary`: because of which it was asked; an undo of that takes it back too. */
export function contextDraft(content: string, boundary?: EntryId): Draft {
  const attachment = { type: hookContextAttachment, content };
  return { type: "attachment", attachment: boundary === undefined ? attachment : ofBoundary(attachment, boundary) };
}
