import type { SessionTitle } from "../schema/entry.ts";
import type { Draft } from "../transcript/draft.ts";
import type { Fold } from "../transcript/fold.ts";
import { typedText } from "../transcript/person.ts";
import { titleCharsMax } from "./limits.ts";

/**
 * What a session is called: as a person named it, else as it was named for them, else by the beginning of the first message.
 * Undefined for another tool's log of which no title was read: what was not read may hold a better one than we could make.
 */
export function sessionTitle({ path, foreignUntil }: Pick<Fold, "path" | "foreignUntil">): SessionTitle | undefined {
  const named = path.titles.findLast(({ by }) => by === "person") ?? path.titles.at(-1);
  if (named !== undefined || foreignUntil > 0) return named;
  const first = path.entries.map((entry) => typedText(entry)).find((typed) => typed !== undefined);
  const text = first === undefined ? "" : clipped(first);
  return text === "" ? undefined : { text, by: "engine" };
}

/** In the form that lists of sessions read. */
export const titleDraft = ({ text, by }: SessionTitle): Draft =>
  by === "person" ? { type: "custom-title", customTitle: text } : { type: "ai-title", aiTitle: text };

/** A line, counted in code points so that no pair of surrogates is split. */
function clipped(text: string): string {
  const line = Array.from(
    text
      .slice(0, 2 * titleCharsMax)
      .replaceAll(/\s+/g, " ")
      .trim(),
  );
  return line.length <= titleCharsMax ? line.join("") : `${line.slice(0, titleCharsMax - 1).join("")}…`;
}
