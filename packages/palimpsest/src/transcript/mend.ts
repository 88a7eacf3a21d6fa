import type { Message } from "../schema/block.ts";
import { entryId, messageId } from "../schema/brand.ts";
import { Flattened } from "./flatten.ts";
import { firstUserLine, lacksFirstUser, type Repair, withFirstUser } from "./repair.ts";

/**
 * Makes any list of messages a valid history; always succeeds, and a second pass changes nothing. It is the fold's own
 * flattening, so there is one place that knows how to restore the API's rules. `at` in a repair's entry is the index of
 * the message.
 */
export function mend(messages: readonly Message[]): {
  readonly messages: readonly Message[];
  readonly repairs: readonly Repair[];
} {
  const flattened = new Flattened({ decisions: new Map() });
  for (const [at, message] of messages.entries()) {
    const name = `messages.${at}`;
    flattened.push({
      entry: entryId(name),
      role: message.role,
      messageId: message.role === "assistant" ? messageId(name) : undefined,
      blocks: message.content,
      thinking: "kept",
      at,
    });
  }
  const repairs = flattened.repairs;
  for (const toolUse of flattened.open)
    repairs.push({ kind: "synthetic-result", toolUse, detail: "the call has no result" });
  if (!flattened.groups.some((group) => group.role === "user")) return { messages: [], repairs };
  if (lacksFirstUser(flattened.groups)) repairs.push({ kind: "first-user-line", detail: firstUserLine });
  return { messages: withFirstUser(flattened.answered()), repairs };
}
