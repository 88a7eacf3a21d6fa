import { openWorkspace } from "../../host/workspace.ts";
import { collectGarbage, type GcReport as BlobReport } from "palimpsest/internal/session/collect-garbage";
import { deleteSessions, type DeletionReport } from "palimpsest/internal/session/delete-sessions";
import type { SessionId } from "palimpsest/internal/schema/brand";
import { garbageAgeMin } from "palimpsest/internal/session/limits";
import type { SessionWriter } from "palimpsest/internal/ports/garbage-store";
import { command } from "../../program/command.ts";
import { exitCode, failure, type Failure } from "../../program/failure.ts";
import { formatBytes } from "palimpsest/internal/text/format-count";
import { formatNumber } from "../../text/format.ts";
import { table } from "../../text/table.ts";

const minutes = garbageAgeMin / 60_000;

export const gcCommand = command({
  name: "gc",
  summary: "finish deletions of this project's sessions, and delete blobs that nothing names any more",
  options: { "dry-run": { type: "boolean", summary: "only list them" } },
  json: "mode, deletions, blobs, unreferenced (id, bytes, putAt, state), temporaries, writers, bytesFreed",
  details: [
    `A blob stays if its id, or a good part of it, occurs anywhere in the project's transcripts, including damaged lines, or in a blob that stays; if a session's tool-results link to it; or if it was stored within the last ${minutes} minutes.`,
    "A deletion of a session that was interrupted is finished first.",
    "While a running process has a session of the project open, nothing is deleted (exit code 4); --dry-run still lists.",
  ],
  run: async (context, { options, format }) => {
    const [store] = await openWorkspace(context).stores("project");
    if (store === undefined) {
      const none = { mode: "list", blobs: 0, unreferenced: [], temporaries: [], writers: [], deletions: [] } as const;
      if (format === "json") await context.out.json({ ...none, bytesFreed: 0 });
      else await context.out.write("This folder is no project yet: there is nothing to collect.\n");
      return exitCode.fine;
    }
    const mode = options["dry-run"] ? "list" : "delete";
    const finished =
      mode === "list" ? undefined : await deleteSessions(store, { sessions: [], removers: store.removers });
    const [unfinished] = finished?.unfinished ?? [];
    if (unfinished !== undefined) return unfinishedFailure(unfinished);
    const outcome = await collectGarbage(store, { mode });
    if (outcome.kind === "busy") return busy(outcome.writers);
    const { kind: _, ...blobs } = outcome;
    const deletions = finished?.deleted ?? (await store.deletion.detached());
    const report: GcReport = { ...blobs, deletions };
    const bytesFreed = countFreedBytes(report) + (finished?.bytesFreed ?? 0);
    if (format === "json") await context.out.json({ ...report, bytesFreed });
    else await context.out.write(asText(report));
    return exitCode.fine;
  },
});

interface GcReport extends BlobReport {
  /** Sessions whose deletion was interrupted. */
  readonly deletions: readonly SessionId[];
}

/** A session that is gone, but of which something is left. */
export const unfinishedFailure = ({ session, message }: DeletionReport["unfinished"][number]): Failure =>
  failure({
    code: exitCode.machine,
    message: `session ${session} is gone, but not everything of it could be removed: ${message}`,
    hint: "`palimpsest sessions gc` removes the rest when the cause is gone.",
  });

function busy([first, ...others]: readonly SessionWriter[]): Failure {
  const more = others.length === 0 ? "" : ` and ${others.length} more sessions are in use`;
  return failure({
    code: exitCode.busy,
    message: `session ${first?.session ?? ""} is in use by ${first?.holder ?? "a process"}${more}: nothing was deleted`,
    hint: "Run it again when no session of the project is open; --dry-run lists what it would delete.",
  });
}

const countFreedBytes = ({ unreferenced, temporaries, mode }: GcReport): number =>
  mode === "list" ? 0 : sum(unreferenced.filter(({ state }) => state === "deleted")) + sum(temporaries);

const sum = (items: readonly { readonly bytes: number }[]): number =>
  items.reduce((total, { bytes }) => total + bytes, 0);

function asText(report: GcReport): string {
  const { blobs, unreferenced, temporaries, writers, mode, deletions } = report;
  const rows = unreferenced.map(({ id, bytes, putAt, state }) => [
    id,
    formatBytes(bytes),
    new Date(putAt).toISOString().slice(0, 16).replace("T", " "),
    textByState[state],
  ]);
  const listed =
    rows.length === 0
      ? ""
      : `${table([{ title: "blob" }, { title: "size", align: "right" }, { title: "put" }, { title: "" }], rows)}\n`;
  const leftovers = temporaries.map(({ path, bytes }) => `${path}  ${formatBytes(bytes)}, left by a crash\n`).join("");
  const open = writers
    .map(({ session, holder }) => `session ${session} is in use by ${holder}: nothing is deleted until it is closed\n`)
    .join("");
  const finished = deletions
    .map((session) => `${mode === "list" ? "would finish" : "finished"} the deletion of session ${session}\n`)
    .join("");
  const deletable = unreferenced.filter(({ state }) => state !== "young");
  const total = `${formatNumber(deletable.length)} of ${formatNumber(blobs)} blobs and ${formatNumber(temporaries.length)} temporary files, ${formatBytes(sum(deletable) + sum(temporaries))}`;
  return `${finished}${listed}${leftovers}${open}${mode === "list" ? "would delete" : "deleted"} ${total}\n`;
}

const textByState = { young: "too young to delete", deletable: "", deleted: "deleted" } as const;
