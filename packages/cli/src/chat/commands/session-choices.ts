import type { SessionSummary } from "palimpsest/internal/ports/session-list";
import type { SessionId } from "palimpsest/internal/schema/brand";
import { humanBytes } from "palimpsest/internal/schema/human-bytes";
import type { Choice } from "../../tui/chat-ui.ts";
import { clipped, counted } from "../../human.ts";
import { humanAge } from "./age.ts";
import { messageCharsMax } from "./limits.ts";

export interface OtherSessions {
  /** Newest first. */
  readonly sessions: readonly SessionSummary[];
  /** The one that is open; absent where none is. */
  readonly current?: SessionId;
  readonly nowMillis: number;
}

/** Sessions that can be gone on with: those in which something was said. */
export const sessionChoices = ({ sessions, current, nowMillis }: OtherSessions): readonly Choice[] =>
  sessions
    .filter(({ sessionId, isSidechain, messageCount }) => sessionId !== current && !isSidechain && messageCount !== 0)
    .map((session) => ({
      value: session.sessionId,
      label: titleOf(session),
      description: aboutText(session, nowMillis),
    }));

const titleOf = ({ summary, firstPrompt, sessionId }: SessionSummary): string =>
  clipped(summary ?? firstPrompt, messageCharsMax) || sessionId;

function aboutText({ modified, messageCount, sizeBytes }: SessionSummary, nowMillis: number): string {
  const messages = messageCount === undefined ? [] : [counted(messageCount, "message")];
  return [`${humanAge(nowMillis - Date.parse(modified))} ago`, ...messages, humanBytes(sizeBytes)].join(", ");
}
