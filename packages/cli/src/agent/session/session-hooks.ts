import type { HookDeps } from "palimpsest/internal/context/deps";
import type { Session } from "palimpsest/internal/session/session";
import type { Agent, UserNotice, SessionEndReason } from "../agent.ts";
import { contextDraft } from "palimpsest/internal/context/inputs";
import type { Instruction } from "palimpsest/internal/memory/load-instruction-file";
import type { LoadedInstructions } from "palimpsest/internal/memory/load-instructions";
import type { WriteFailure } from "palimpsest/internal/ports/blobs";
import type { HookPayload } from "palimpsest/internal/ports/hooks";
import type { AgentOptions } from "../agent-options.ts";

/** What hooks are told about the session as a whole. */
export const sessionHooks = (deps: HookDeps, session: Session): Pick<Agent, "notify" | "close" | "discard"> => ({
  notify: (notice) => notifyHooks(deps, notice),
  close: (why = "other") => endSession(deps, { session, why, log: "close" }),
  discard: (why = "other") => endSession(deps, { session, why, log: "discard" }),
});

async function endSession(
  { hooks, place }: HookDeps,
  {
    session,
    why,
    log,
  }: { readonly session: Session; readonly log: "close" | "discard"; readonly why: SessionEndReason },
): Promise<void> {
  await hooks.fire({ ...place(), name: "SessionEnd", reason: why }, new AbortController().signal);
  await session[log]();
}

async function notifyHooks({ hooks, place }: HookDeps, notice: UserNotice): Promise<readonly string[]> {
  const outcome = await hooks.fire({ ...place(), name: "Notification", ...notice }, new AbortController().signal);
  return [...outcome.messages, ...outcome.warnings];
}

type SessionStartOutcome = { readonly kind: "greeted"; readonly warnings: readonly string[] } | WriteFailure;

/** Tells hooks that the session starts or resumes and which instructions count; what they add goes to the model. */
export async function announceSessionStart(
  deps: HookDeps,
  {
    options,
    session,
    model,
    instructions,
  }: {
    readonly options: AgentOptions;
    readonly session: Session;
    readonly model: string;
    readonly instructions: LoadedInstructions;
  },
): Promise<SessionStartOutcome> {
  const source = { new: "startup", resume: "resume", fork: "fork" } as const;
  const events: readonly HookPayload[] = [
    { name: "SessionStart", source: options.startedBy ?? source[options.session.kind], model },
    ...instructions.files.map((file) => instructionsLoadedEvent(file, { reason: "session_start" })),
  ];
  const warnings: string[] = [];
  const { signal = new AbortController().signal } = options;
  for (const event of events) {
    const outcome = await deps.hooks.fire({ ...deps.place(), ...event }, signal);
    warnings.push(...outcome.messages, ...outcome.warnings);
    if (outcome.context.length === 0) continue;
    const appended = await session.append(...outcome.context.map((text) => contextDraft(text)));
    if (appended.kind === "failed") return appended;
  }
  return { kind: "greeted", warnings };
}

/** The event for one file. An imported file is reported as an import, whatever the files were loaded for. */
export const instructionsLoadedEvent = (
  { path, scope, importedBy }: Pick<Instruction, "path" | "scope" | "importedBy">,
  { reason, trigger, patterns }: LoadCause,
): InstructionsLoadedPayload => ({
  name: "InstructionsLoaded",
  path,
  memoryType: typeByScope[scope],
  reason: importedBy === undefined ? reason : "include",
  ...(importedBy === undefined ? {} : { parentPath: importedBy }),
  ...(trigger === undefined ? {} : { triggerPath: trigger }),
  ...(importedBy !== undefined || patterns === undefined ? {} : { globs: patterns }),
});

type InstructionsLoadedPayload = Extract<HookPayload, { readonly name: "InstructionsLoaded" }>;

interface LoadCause {
  readonly reason: Exclude<InstructionsLoadedPayload["reason"], "include">;
  /** The touched file that brought it in. */
  readonly trigger?: string | undefined;
  /** Of the rule that matches it. */
  readonly patterns?: readonly string[] | undefined;
}

const typeByScope = { managed: "Managed", user: "User", project: "Project", local: "Local" } as const satisfies {
  readonly [Scope in Instruction["scope"]]: string;
};
