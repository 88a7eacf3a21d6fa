import type { HookDeps } from "palimpsest/internal/context/deps";
import { contextDraft } from "palimpsest/internal/context/reminders";
import { instructionsLoaded } from "./hooks/instructions-loaded.ts";
import type { Session } from "palimpsest/internal/session/session";
import type { LoadedInstructions } from "palimpsest/internal/memory/instructions";
import type { WriteFailure } from "palimpsest/internal/ports/blobs";
import type { HookMoment } from "palimpsest/internal/ports/hooks";
import type { AgentOptions } from "./agent-options.ts";

interface Greeting {
  readonly options: AgentOptions;
  readonly session: Session;
  readonly model: string;
  readonly instructions: LoadedInstructions;
}

type Greeted = { readonly kind: "greeted"; readonly warnings: readonly string[] } | WriteFailure;

/** Hooks are told that the session begins or goes on, and which instructions count; what they add is said to the model. */
export async function greet(deps: HookDeps, { options, session, model, instructions }: Greeting): Promise<Greeted> {
  const source = { new: "startup", resume: "resume", fork: "fork" } as const;
  const moments: readonly HookMoment[] = [
    { name: "SessionStart", source: options.startedBy ?? source[options.session.kind], model },
    ...instructions.files.map((file) => instructionsLoaded(file, "session_start")),
  ];
  const warnings: string[] = [];
  const { signal = new AbortController().signal } = options;
  for (const moment of moments) {
    const outcome = await deps.hooks.fire({ ...deps.place(), ...moment }, signal);
    warnings.push(...outcome.messages, ...outcome.warnings);
    if (outcome.context.length === 0) continue;
    const appended = await session.append(...outcome.context.map((one) => contextDraft(one)));
    if (appended.kind === "failed") return appended;
  }
  return { kind: "greeted", warnings };
}
