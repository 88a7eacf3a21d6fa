import type { ChatItem } from "../state/chat-item.ts";

type Kind = ChatItem["kind"];

/** What the agent does stands together; what is said has air around it. */
export const gapBetween = (before: Kind | undefined, kind: Kind): readonly string[] =>
  before === undefined || (isDeed(before) && isDeed(kind)) ? [] : [""];

function isDeed(kind: Kind): boolean {
  switch (kind) {
    case "call":
    case "edit":
    case "retry":
    case "thinking":
      return true;
    case "person":
    case "text":
    case "compacted":
    case "notice":
    case "output":
      return false;
  }
}
