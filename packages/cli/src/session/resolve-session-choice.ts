import type { SessionChoice } from "../agent/agent-options.ts";
import type { CommandContext } from "../program/command.ts";
import { exitCode, failure, type Failure, usageError } from "../program/failure.ts";
import { notOursFailure } from "./session-failure.ts";
import { quoteForShell } from "../text/format.ts";

interface SessionFlags {
  readonly continue: boolean;
  /** Empty: the user chooses one. */
  readonly resume: string | undefined;
  readonly fork: boolean;
  /** `counts`: if no session has a message but there is unsent input, a new session begins with it. */
  readonly leftInput?: "counts";
}

/** `choose`: the user picks one from a list. */
type SessionChoiceOutcome = SessionChoice | { readonly kind: "choose" } | Failure;

/** The session that a command line names. */
export async function resolveSessionChoice(
  context: CommandContext,
  flags: SessionFlags,
): Promise<SessionChoiceOutcome> {
  if (flags.continue && flags.resume !== undefined)
    return usageError("--continue and --resume name two sessions", "Give one of them.");
  const kind = flags.fork ? "fork" : "resume";
  if (flags.resume === "")
    return flags.fork ? usageError("--fork needs a session", "Name it: --resume <session>.") : { kind: "choose" };
  if (flags.resume !== undefined) return findNamedSession(context, { kind, name: flags.resume });
  if (flags.continue) return findNewestSession(context, { kind, leftInput: flags.leftInput });
  return flags.fork ? usageError("--fork needs a session", "Add --continue or --resume <session>.") : { kind: "new" };
}

interface NamedSession {
  readonly kind: "resume" | "fork";
  readonly name: string;
}

async function findNamedSession(
  context: CommandContext,
  { kind, name }: NamedSession,
): Promise<SessionChoice | Failure> {
  const { openWorkspace } = await import("../host/workspace.ts");
  const workspace = openWorkspace(context);
  const found = await workspace.resolveLog(name);
  if (found.kind === "ours") {
    // Before its project: there it would be refused too.
    const { readSessionOwner } = await import("../host/session-owner.ts");
    const sender = kind === "fork" ? "agent" : await readSessionOwner(found.deps, { id: found.id, env: context.env });
    if (sender !== "agent") return notOursFailure(found.id, sender);
    const owner = await workspace.findLogOwner(found);
    return owner.kind === "here" ? { kind, id: found.id } : otherProjectFailure(found.id, owner.root);
  }
  if (found.kind === "foreign") await found.source.close();
  if (found.kind === "ambiguous") return ambiguousFailure(name, found.candidates);
  return failure({
    code: exitCode.notFound,
    message: `no session of ours is called ${name}`,
    hint: "`palimpsest sessions list` shows them; import another tool's log first.",
  });
}

/** It must be opened where its files are: here its paths would mean other files. */
const otherProjectFailure = (id: string, root: string | undefined): Failure =>
  failure({
    code: exitCode.notFound,
    message: `session ${id} belongs to ${root ?? "another project"}`,
    hint: `Start it there: ${root === undefined ? "" : `cd ${quoteForShell(root)} && `}palimpsest --resume ${id}`,
  });

const ambiguousFailure = (name: string, candidates: readonly string[]): Failure =>
  failure({
    code: exitCode.usage,
    message: `several sessions begin with ${name}`,
    hint: `Write more of the id: ${candidates.slice(0, candidatesShownMax).join(", ")}`,
  });

/** Enough to see where they differ. */
const candidatesShownMax = 4;

interface NewestSession extends Pick<NamedSession, "kind"> {
  readonly leftInput: SessionFlags["leftInput"];
}

async function findNewestSession(
  context: CommandContext,
  { kind, leftInput }: NewestSession,
): Promise<SessionChoice | Failure> {
  const { openWorkspace } = await import("../host/workspace.ts");
  const { keepAgentSessions } = await import("../host/session-owner.ts");
  const workspace = openWorkspace(context);
  // A session without a message, because a hook stopped it, is not worth resuming.
  const sessions = (await workspace.list("project")).filter(({ messageCount }) => messageCount !== 0);
  for await (const { sessionId: id } of keepAgentSessions(workspace, sessions)) return { kind, id };
  if (leftInput === "counts" && (await hasLeftInput(context))) return { kind: "new" };
  return failure({
    code: exitCode.notFound,
    message:
      sessions.length === 0 ? "this project has no session yet" : "this project has no session of this agent yet",
    hint: `Leave out --continue to start one.${sessions.length === 0 ? "" : " Its sessions belong to clients of the gateway or to programs."}`,
  });
}

async function hasLeftInput(context: CommandContext): Promise<boolean> {
  const { openWorkspace } = await import("../host/workspace.ts");
  const { findAbandonedInput } = await import("../chat/unsent-input.ts");
  const project = await openWorkspace(context).project();
  if (project.kind === "failed") return false;
  const { deps, folder } = project;
  return (await findAbandonedInput({ ...deps, folder })) !== undefined;
}
