import type { NotesFile } from "palimpsest/internal/ports/notes-file";
import type { PlanAnswer, Planning, PlanningFailure, PlanReview, Proposed } from "palimpsest/internal/ports/planning";
import type { SessionMode } from "./session-mode.ts";

export interface PlanningInput {
  readonly mode: Pick<SessionMode, "enter" | "keepPlan" | "leave">;
  /** Where people read it. */
  readonly file: Pick<NotesFile, "path" | "write">;
  readonly person: PlanReview;
}

/** What the log says of the plan counts; the file is for people's eyes, and is written first. */
export const planningFor = (input: PlanningInput): Planning => ({
  enter: async () => {
    const entered = await input.mode.enter();
    return entered.kind === "failed" ? failed(entered.message) : { kind: "on" };
  },
  propose: (plan, signal) => proposed(input, { plan, signal }),
});

interface Proposing {
  readonly plan: string;
  readonly signal: AbortSignal;
}

async function proposed({ mode, file, person }: PlanningInput, { plan, signal }: Proposing): Promise<Proposed> {
  const entered = await mode.enter();
  if (entered.kind === "failed") return failed(entered.message);
  const written = await file.write(plan);
  if (written.kind === "failed") return failed(written.message);
  const kept = await mode.keepPlan({ text: plan, state: "proposed" });
  if (kept.kind === "failed") return failed(kept.message);
  const answer: PlanAnswer = await person.review({ plan, path: file.path }, signal);
  if (signal.aborted) return { kind: "refused" };
  switch (answer.kind) {
    case "refused":
    case "nobody":
      return answer;
    case "accepted": {
      const { plan: accepted = plan } = answer;
      const rewritten = accepted === plan ? written : await file.write(accepted);
      if (rewritten.kind === "failed") return failed(rewritten.message);
      const left = await mode.leave(answer.mode, accepted);
      if (left.kind === "failed") return failed(left.message);
      const { plan: _same, ...rest } = answer;
      return accepted === plan ? rest : answer;
    }
  }
}

const failed = (message: string): PlanningFailure => ({ kind: "failed", message });
