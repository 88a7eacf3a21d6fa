import type { Change } from "../../cache/baseline.ts";
import type { Draft } from "../../transcript/draft.ts";
import { renderChange } from "../system-prompt/change.ts";

/** What a person said while the agent worked; the log keeps the words as the person's own. */
export const queuedDraft = (prompt: string): Draft => ({
  type: "attachment",
  attachment: { type: "queued_command", prompt },
});

/** What a hook wants the model to know. */
export const contextDraft = (content: string): Draft => ({
  type: "attachment",
  attachment: { type: "hook_additional_context", content },
});

/** What changed since the prefix was frozen, told behind the conversation. */
export const changeDrafts = (changes: readonly Change[]): readonly Draft[] =>
  changes.flatMap((change) => {
    const content = renderChange(change);
    return content === undefined ? [] : [contextDraft(content)];
  });
