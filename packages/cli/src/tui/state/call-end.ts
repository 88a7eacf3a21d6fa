import { planRefusedWords } from "../../tool/plan/words.ts";
import type { CallItem } from "./chat-item.ts";

interface Ended extends Pick<CallItem, "state" | "summary"> {
  readonly tool: string;
}

/** A plan that was put before a person did its work when they refused it; to them it is a no of theirs, with their reason. */
export function callEnd({ tool, state, summary }: Ended): Pick<CallItem, "state" | "summary"> {
  if (tool !== "plan" || state !== "done" || !summary.startsWith(planRefusedWords)) return { state, summary };
  return { state: "denied", summary: summary.slice(planRefusedWords.length).replace(/^: /, "") };
}
