import type { HookDeps } from "palimpsest/internal/context/deps";
import type { Session } from "palimpsest/internal/session/session";
import type { Agent, PersonWanted, SessionEndReason } from "./agent.ts";

/** What hooks are told of the session as a whole. */
export const sessionHooks = (deps: HookDeps, session: Session): Pick<Agent, "notify" | "close" | "discard"> => ({
  notify: (notice) => notifyHooks(deps, notice),
  close: (why = "other") => endSession(deps, { session, why, log: "close" }),
  discard: (why = "other") => endSession(deps, { session, why, log: "discard" }),
});

async function endSession({ hooks, place }: HookDeps, { session, why, log }: SessionEnd): Promise<void> {
  await hooks.fire({ ...place(), name: "SessionEnd", reason: why }, new AbortController().signal);
  await session[log]();
}

interface SessionEnd {
  readonly session: Session;
  readonly log: "close" | "discard";
  readonly why: SessionEndReason;
}

async function notifyHooks({ hooks, place }: HookDeps, notice: PersonWanted): Promise<readonly string[]> {
  const outcome = await hooks.fire({ ...place(), name: "Notification", ...notice }, new AbortController().signal);
  return [...outcome.messages, ...outcome.warnings];
}
