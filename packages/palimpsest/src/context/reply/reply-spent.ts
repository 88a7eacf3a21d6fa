import { z } from "zod";
import { type Edit, type PaidCall, paidCallsShape } from "../../schema/edit.ts";
import type { JsonObject } from "../../schema/json.ts";
import type { Draft } from "../../transcript/draft.ts";

const spentName = "reply.spent";
const spentShape = z.object({ calls: paidCallsShape });

export interface ReplySpent {
  /** Who was asked. */
  readonly model: string;
  readonly usage: JsonObject;
}

/** Books a request of whose reply nothing stands in the log: it broke off before its first block was whole, or had none. */
export const replySpentDraft = ({ model, usage }: ReplySpent): Draft => ({
  type: "setting",
  name: spentName,
  value: { calls: [{ path: "main", model, usage }] },
});

/** Stands where a reply broke off that was left for good: the path goes on here. */
export const replyLeftDraft: Draft = { type: "setting", name: "reply.left", value: true };

/** Requests of the conversation itself that this edit books. */
export function replyCallsIn(edit: Edit): readonly PaidCall[] {
  if (edit.type !== "setting" || edit.name !== spentName) return [];
  return spentShape.safeParse(edit.value).data?.calls ?? [];
}
