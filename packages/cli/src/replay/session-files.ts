import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { CommandContext } from "../command.ts";
import { exitCode } from "../exit-code.ts";
import { failure, type Failure } from "../failure.ts";
import { filesBelow } from "../files-below.ts";
import { openNamedLog } from "../named-log.ts";
import type { SessionFile } from "./job.ts";

export interface SessionFiles {
  readonly kind: "files";
  /** Each once, in the order of their paths. */
  readonly files: readonly SessionFile[];
  /** `in folders`: one at least of those that were named is a folder. */
  readonly named: "one by one" | "in folders";
}

/** Whether a file holds a session shows when it is read. A name that leads nowhere fails at once: a long run should not end with a typing error. */
export async function sessionFiles(
  context: Pick<CommandContext, "env" | "cwd">,
  names: readonly string[],
): Promise<SessionFiles | Failure> {
  const paths = new Set<string>();
  let named: SessionFiles["named"] = "one by one";
  for (const name of names) {
    const path = resolve(context.cwd, name);
    const below = await filesBelow(path);
    if (below.kind === "missing") {
      const session = await sessionNamed(context, name);
      if (session.kind === "failure") return session;
      paths.add(session.path);
      continue;
    }
    if (below.kind === "unreadable")
      return failure({ code: exitCode.machine, message: `${name} can't be read: ${below.message}` });
    if (below.paths.length !== 1 || below.paths[0] !== path) named = "in folders";
    for (const one of below.paths) paths.add(one);
  }
  const files: SessionFile[] = [];
  for (const path of [...paths].toSorted()) {
    // Gone since: then it is no file of this run.
    const found = await stat(path).catch(() => undefined);
    if (found !== undefined) files.push({ path, sizeBytes: found.size, modifiedMillis: found.mtimeMs });
  }
  if (files.length > 0) return { kind: "files", files, named };
  return failure({
    code: exitCode.notFound,
    message: `there is no file below ${names.join(", ")}`,
    hint: "Name transcripts, or a folder with some in it or below it.",
  });
}

async function sessionNamed(
  context: Pick<CommandContext, "env" | "cwd">,
  name: string,
): Promise<{ readonly kind: "session"; readonly path: string } | Failure> {
  const log = await openNamedLog(context, name);
  if (log.kind === "log") {
    await log.source.close();
    return { kind: "session", path: log.path };
  }
  if (log.code !== exitCode.notFound) return log;
  return failure({
    code: exitCode.notFound,
    message: `there is no file, folder or session ${name}`,
    hint: "`palimpsest sessions list --all` shows the sessions there are.",
  });
}
