import { openLog } from "palimpsest/internal/session/open";
import { recordedReplies } from "@palimpsest/simulator/internal/actor/recorded";
import { replayActor } from "@palimpsest/simulator/internal/actor/replay";
import type { Chosen } from "./chosen-actor.ts";
import type { CommandContext } from "./command.ts";
import { exitCode } from "./exit-code.ts";
import { failure, type Failure } from "./failure.ts";
import { openNamedLog } from "./named-log.ts";

/** One that says what was said in a recorded session. */
export async function replayed(context: CommandContext, name: string): Promise<Chosen | Failure> {
  const log = await openNamedLog(context, name);
  if (log.kind === "failure") return log;
  try {
    // From the beginning: what a boundary covers was said too.
    const { source, origin } = log;
    const { fold } = await openLog(log, { source, origin, tailBytes: source.size });
    const replies = recordedReplies(fold.path.entries);
    if (replies.length > 0) return { kind: "actor", actor: replayActor({ replies }) };
    return failure({
      code: exitCode.notFound,
      message: `${name} holds no reply of a model`,
      hint: "`palimpsest view` shows what is in it.",
    });
  } finally {
    await log.source.close();
  }
}
