import type { AdoptedOnce } from "palimpsest/internal/session/adopt-once";
import type { WriteFailure } from "palimpsest/internal/ports/blobs";
import type { OpenForWriting } from "palimpsest/internal/ports/transcripts";
import { type ExitCode, exitCode } from "./exit-code.ts";
import { failure, type Failure } from "./failure.ts";

type NotOpen = Exclude<OpenForWriting, { kind: "open" }> | Extract<AdoptedOnce, { kind: "damaged" }> | WriteFailure;

/** Of a write that was refused. */
export const refusalCode = (why: WriteFailure["why"]): ExitCode & (4 | 6) =>
  why === "lock-lost" ? exitCode.busy : exitCode.machine;

export function writingFailure(outcome: NotOpen, session: string): Failure {
  switch (outcome.kind) {
    case "busy":
      return failure({
        code: exitCode.busy,
        message: `session ${session} is in use by ${outcome.holder}`,
        hint: "End that process, or wait until it has finished.",
      });
    case "missing":
      return failure({
        code: exitCode.notFound,
        message: `there is no session ${session}`,
        hint: "`palimpsest sessions list --all` shows the sessions there are.",
      });
    case "exists":
      return failure({
        code: exitCode.refused,
        message: `there is a session ${session} already`,
        hint: "Nothing was written.",
      });
    case "damaged":
      return failure({
        code: exitCode.refused,
        message: `its copy, session ${outcome.id}, is damaged: run palimpsest sessions fsck`,
        hint: "Nothing was written. A new copy is made once the transcript of that session is moved away.",
      });
    case "failed":
      return failure({
        code: refusalCode(outcome.why),
        message: outcome.message,
        hint: "What was written before stays; run it again when the cause is gone.",
      });
  }
}
