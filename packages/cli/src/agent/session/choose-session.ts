import { randomUUID } from "node:crypto";
import { readSessionOwner } from "../../host/session-owner.ts";
import type { ProjectStore } from "../../host/project-store.ts";
import { openSession, type Session, type SessionDeps } from "palimpsest/internal/session/session";
import { sessionId } from "palimpsest/internal/schema/brand";
import { findGitBranch } from "../../tool/working-state/place-part.ts";
import type { AgentOptions } from "../agent-options.ts";
import { rememberOrigin, copySession } from "./copy-session.ts";
import type { OpenAgentOutcome } from "../agent.ts";

type ChooseSessionOutcome =
  | { readonly kind: "open"; readonly session: Session }
  | Exclude<
      OpenAgentOutcome,
      { kind: "agent" } | { kind: "no-key" } | { kind: "unreadable-deny-rules" } | { kind: "team-refused" }
    >;

/** Opens the requested session: a new one, an existing one, or a copy of another. */
export async function chooseSession(
  deps: ProjectStore & Pick<SessionDeps, "isClearable" | "residentTokensMin" | "redaction">,
  options: AgentOptions,
): Promise<ChooseSessionOutcome> {
  const { session: choice, cwd, version, env } = options;
  const circumstances = { cwd, version };
  const id = choice.kind === "resume" ? choice.id : sessionId(randomUUID());
  if (choice.kind === "resume") {
    const owner = await readSessionOwner(deps, { id, env });
    if (owner !== "agent") return { kind: "not-ours", id, owner };
  }
  if (choice.kind === "fork") {
    const copied = await copySession(deps, { from: choice.id, to: id });
    if (copied.kind !== "copied") return copied;
  }
  const mode = choice.kind === "new" ? "create" : "resume";
  const opened = await openSession(deps, { id, circumstances, mode });
  switch (opened.kind) {
    case "open": {
      opened.session.recordBranch(await findGitBranch(cwd));
      const failure = choice.kind === "fork" ? await rememberOrigin(opened.session, choice.id) : undefined;
      if (failure === undefined) return { kind: "open", session: opened.session };
      await opened.session.close();
      return failure;
    }
    case "missing":
    case "exists":
      return { kind: "missing", id };
    case "busy":
    case "failed":
      return opened;
  }
}
