import { elementsIn } from "../actor/elements.ts";

/** What a model said when it was asked for a summary. */
export interface SummarySaid {
  readonly texts: readonly string[];
  readonly calls: number;
}

/** Undefined where a tool was called or nothing was said: no summary can be made of that. */
export function summaryIn({ texts, calls }: SummarySaid): string | undefined {
  if (calls > 0) return undefined;
  const text = texts.join("");
  const [element] = elementsIn(text, (name) => name === "summary");
  // One that is never closed was cut short: what there is of it counts.
  const summary = (element?.inside ?? text.replace(/^[^]*?<summary>/i, "")).trim();
  return summary === "" ? undefined : summary;
}
