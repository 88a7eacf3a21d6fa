import type { AgentOpened } from "./agent/agent.ts";
import type { Problem } from "palimpsest/internal/settings/problem";
import { exitCode } from "./exit-code.ts";
import { failure, type Failure } from "./failure.ts";
import { said } from "./settings-problems.ts";

/** `whileBusy`: what to do where somebody else has the session. */
export function agentNotOpened(opened: Exclude<AgentOpened, { kind: "agent" }>, whileBusy: string): Failure {
  switch (opened.kind) {
    case "no-key":
      return failure({ code: exitCode.refused, message: "there is no key for a model", hint: opened.message });
    case "unread-bans":
      return unreadBans(opened.problems);
    case "missing":
      return failure({
        code: exitCode.notFound,
        message: `there is no session ${opened.id}`,
        hint: "`palimpsest sessions list` shows them.",
      });
    case "busy":
      return failure({
        code: exitCode.busy,
        message: `the session is in use by ${opened.holder}`,
        hint: whileBusy,
      });
    case "failed":
      return failure({ code: exitCode.machine, message: opened.message });
  }
}

function unreadBans(problems: readonly Problem[]): Failure {
  const [first] = problems;
  const others = problems.length > 1 ? ` (and ${problems.length - 1} more like it)` : "";
  return failure({
    code: exitCode.usage,
    message: `what your settings forbid can't be told: ${first === undefined ? "" : said(first)}${others}`,
    hint: "Correct the file, then start again; `palimpsest explain` says everything that is wrong with it.",
  });
}
