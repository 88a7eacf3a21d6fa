import type { Message, ToolResultBlock } from "../schema/block.ts";
import type { EntryId, ToolUseId } from "../schema/brand.ts";

/** A change that was needed to turn the path into a valid request, with the entry or call that it concerns. */
type RepairKind =
  | "synthetic-result"
  | "orphan-result"
  | "duplicate-result"
  | "duplicate-call"
  | "late-result"
  | "block-left-out"
  | "thinking-left-out"
  | "first-user-line";

export interface Repair {
  readonly kind: RepairKind;
  readonly entry?: EntryId;
  readonly toolUse?: ToolUseId;
  readonly detail: string;
}

const detailByKind = {
  "synthetic-result": "the call has no result",
  "orphan-result": "its call is not in the view",
  "duplicate-result": "the call is answered already",
  "duplicate-call": "a call with this id is in the view already",
  "late-result": "said as a new message; an earlier request holds a synthetic result",
  "thinking-left-out": "thinking must stand first in its turn",
} satisfies Partial<Record<RepairKind, string>>;

/** A repair with a fixed detail text. */
export const createRepair = (kind: keyof typeof detailByKind, concerns: Pick<Repair, "entry" | "toolUse">): Repair => ({
  kind,
  ...concerns,
  detail: detailByKind[kind],
});

/** Sent in place of a result that never arrived. A repair entry freezes these words before the first request that holds them. */
export const interruptedText = "[The call was interrupted: no result was recorded.]";

/** The same for a command that was still running when the session was reopened. */
export const endedLaterText =
  "[The call was interrupted: no result was recorded. Its command was still running when the session was opened again, and was ended then.]";

export const syntheticResult = (toolUse: ToolUseId, shown: string = interruptedText): ToolResultBlock => ({
  type: "tool_result",
  tool_use_id: toolUse,
  content: shown,
  is_error: true,
});

export const lateResultHeader = (toolName: string, toolUse: ToolUseId): string =>
  `[The result of the earlier ${toolName} call ${toolUse}, which had been reported as interrupted, arrived:]`;

/** A request must begin with a user message. Prepending a line keeps the assistant messages before the first user message. */
export const firstUserLine = "[The beginning of this conversation is not in the log.]";

/** One object for all requests, so that caches keyed by block identity recognise it. */
const firstUserMessage: Message = { role: "user", content: [{ type: "text", text: firstUserLine }] };

export const withFirstUser = (messages: readonly Message[]): readonly Message[] =>
  lacksFirstUser(messages) ? [firstUserMessage, ...messages] : messages;

/** A compaction block may come first without a user message: the API accepts it only there. */
export const lacksFirstUser = ([first]: readonly Message[]): boolean =>
  first?.role === "assistant" && first.content[0]?.type !== "compaction";
