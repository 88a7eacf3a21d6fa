import type { HookDeps } from "../loop/agent/deps.ts";
import { contextDraft } from "../loop/agent/reminders.ts";
import { instructionsLoaded } from "../loop/hooks/instructions-loaded.ts";
import type { Session } from "../loop/session.ts";
import type { LoadedInstructions } from "../memory/instructions.ts";
import type { WriteFailure } from "../ports/blobs.ts";
import type { HookMoment } from "../ports/hooks.ts";
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
