import type { SessionTitle } from "../schema/entry.ts";
import type { Draft } from "../transcript/draft.ts";
import { userTypedText } from "../transcript/user-text.ts";
import { titleCharsMax } from "./limits.ts";
import type { Session } from "./session.ts";

/**
 * The title of a session: the user's title, else a generated one, else the beginning of the first message. Undefined if
 * no title was read and a better one may exist: in another tool's log, and in a log that was read from a boundary on, so
 * that the first message is not known.
 */
export function sessionTitle({ fold, read }: Pick<Session, "fold" | "read">): SessionTitle | undefined {
  const { path, foreignUntil } = fold;
  const named = path.titles.findLast(({ by }) => by === "user") ?? path.titles.at(-1);
  if (named !== undefined || foreignUntil > 0 || read.from !== "beginning") return named;
  const first = path.entries.map((entry) => userTypedText(entry)).find((typed) => typed !== undefined);
  const text = first === undefined ? "" : clipTitle(first);
  return text === "" ? undefined : { text, by: "engine" };
}

/** In the form that session lists read. */
export const titleDraft = ({ text, by }: SessionTitle): Draft =>
  by === "user" ? { type: "custom-title", customTitle: text } : { type: "ai-title", aiTitle: text };

/** Clips to one line, counted in code points so that no surrogate pair is split. */
function clipTitle(text: string): string {
  const line = Array.from(
    text
      .slice(0, 2 * titleCharsMax)
      .replaceAll(/\s+/g, " ")
      .trim(),
  );
  return line.length <= titleCharsMax ? line.join("") : `${line.slice(0, titleCharsMax - 1).join("")}…`;
}
