import type { RecalledOriginal, RecallFilters, RecallIndex } from "palimpsest/internal/ports/recall-index";
import { searchTextKinds } from "palimpsest/internal/ports/session-search";
import { openProjectRecall } from "../host/project-recall.ts";
import { openWorkspace } from "../host/workspace.ts";
import type { CommandContext } from "../program/command.ts";
import { exitCode, failure, type Failure } from "../program/failure.ts";
import { sessionFailure } from "./session-failure.ts";

/** The project's index, with everything in it that was there when it was opened. The caller closes it. */
export async function openCaughtUpRecall(
  context: Pick<CommandContext, "env" | "cwd">,
  err?: CommandContext["err"],
): Promise<{ readonly kind: "open"; readonly index: RecallIndex } | Failure> {
  const workspace = openWorkspace(context);
  const project = await workspace.project();
  if (project.kind === "failed") return sessionFailure(project, "new");
  const opened = await openProjectRecall({ project, home: workspace.home, env: context.env });
  if (opened.kind === "unavailable")
    return failure({ code: exitCode.machine, message: `there is no index: ${opened.why}`, hint: "Name one session." });
  if (opened.kind === "failed")
    return failure({
      code: exitCode.machine,
      message: opened.message,
      hint: "Name one session: it is searched alone.",
    });
  const { index } = opened;
  const outcome = await index.catchUp({
    onProgress: ({ done, total }) => {
      void err?.progress(`indexing, ${Math.floor((100 * done) / Math.max(1, total))}%`);
    },
  });
  await err?.progress("");
  // What was indexed before can be searched all the same.
  if (outcome.kind === "failed") await err?.write(`${outcome.message}\n`);
  return { kind: "open", index };
}

/** The filters as the user writes them. */
export interface WrittenFilters {
  readonly session?: string | undefined;
  readonly tool?: string | undefined;
  readonly file?: string | undefined;
  readonly after?: string | undefined;
  readonly before?: string | undefined;
  readonly kind?: string | undefined;
  readonly source?: string | undefined;
}

export function parseFilters({ after, before, kind, ...written }: WrittenFilters): RecallFilters | Failure {
  const known = searchTextKinds.find((name) => name === kind);
  if (kind !== undefined && known === undefined)
    return failure({
      code: exitCode.usage,
      message: `--kind ${kind} is no kind`,
      hint: `One of ${searchTextKinds.join(", ")}.`,
    });
  for (const [name, time] of Object.entries({ after, before }))
    if (time !== undefined && Number.isNaN(Date.parse(time)))
      return failure({
        code: exitCode.usage,
        message: `--${name} ${time} is no time`,
        hint: "2026-01-31 or 2026-01-31T10:00:00Z.",
      });
  return { ...written, kind: known, after: toIso(after), before: toIso(before) };
}

const toIso = (time: string | undefined): string | undefined =>
  time === undefined ? undefined : new Date(time).toISOString();

/** `session/id` as hits are printed; undefined if nothing has it. */
export async function expandFound(index: RecallIndex, written: string): Promise<RecalledOriginal | undefined> {
  if (/\s/.test(written)) return undefined;
  const at = written.lastIndexOf("/");
  // A memory is its own session, and is printed once.
  const places = [[written, written], ...(at <= 0 ? [] : [[written.slice(0, at), written.slice(at + 1)]])];
  for (const [session = "", id = ""] of places) {
    const document = await index.open(session);
    if (document === undefined) continue;
    try {
      return await document.expand(id);
    } finally {
      await document.close();
    }
  }
  return undefined;
}
