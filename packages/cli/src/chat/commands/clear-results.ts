import { millis } from "palimpsest/internal/schema/brand";
import { clearByHand, contextChange, nothingToClear, parseClearTarget } from "../../clear-by-hand.ts";
import { type ChatCommand, stay } from "./command.ts";
import { refuse, tell, unwritten } from "./notices.ts";

/** Old tool results show their markers, down to a target. No model is asked. */
export const clearResultsCommand: ChatCommand = async ({ rest }, chat) => {
  const target = parseClearTarget(rest);
  if (target.kind !== "target") {
    refuse(chat, { message: `/clear-results ${target.message}`, hint: "For example /clear-results 20000." });
    return stay;
  }
  const outcome = await clearByHand({ agent: chat.agent, downToTokens: target.tokens });
  if (outcome.kind === "failed") {
    unwritten(chat, outcome);
    return stay;
  }
  const { cleared, events } = outcome;
  for (const event of events) chat.act({ kind: "event", event, at: millis(Date.now()) });
  if (cleared === undefined) refuse(chat, { message: nothingToClear(target.tokens) });
  else tell(chat, `Context: ${contextChange(cleared)}. /undo brings the results back.`);
  return stay;
};
