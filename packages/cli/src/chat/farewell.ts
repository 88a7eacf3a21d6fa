import type { CommandContext } from "../command.ts";
import { type Answerer, usdBy } from "../compact/simulated.ts";
import type { ChatEnd } from "./chat.ts";

interface Farewell {
  readonly end: Extract<ChatEnd, { kind: "left" }>;
  readonly answerer: Answerer;
}

/** How to come back, and what it has cost. Nothing where nothing was said. */
export async function sayFarewell({ out }: CommandContext, { end, answerer }: Farewell): Promise<void> {
  const { session, conversation } = end.agent;
  const { requests, totalNanos, unpriced } = conversation.costs.session;
  if (requests === 0 && session.fold.messages.length === 0) return;
  const isUnknown = unpriced > 0 && totalNanos === 0;
  const more = unpriced > 0 ? ", and more: not every model has a known price" : "";
  await out.write(`This session: ${isUnknown ? "price not known" : `${usdBy(answerer, totalNanos)}${more}`}\n`);
  await out.write(`Go on with it: ${out.style("bold", `palimpsest --resume ${session.id}`)}\n`);
}
