import { openWorkspace } from "../../host/workspace.ts";
import { collectGarbage, type GcReport } from "palimpsest/internal/session/collect-garbage";
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
  summary: "delete this project's blobs that nothing names any more",
  options: { "dry-run": { type: "boolean", summary: "only list them" } },
  json: "mode, blobs, unreferenced (id, bytes, putAt, state), temporaries, writers, bytesFreed",
  details: [
    `A blob stays if its id, or a good part of it, occurs anywhere in the project's transcripts, including damaged lines, or in a blob that stays; if a session's tool-results link to it; or if it was stored within the last ${minutes} minutes.`,
    "While a running process has a session of the project open, nothing is deleted (exit code 4); --dry-run still lists.",
  ],
  run: async (context, { options, format }) => {
    const deps = await openWorkspace(context).garbage();
    if (deps === undefined) {
      const none: GcReport = { mode: "list", blobs: 0, unreferenced: [], temporaries: [], writers: [] };
      if (format === "json") await context.out.json({ ...none, bytesFreed: 0 });
      else await context.out.write("This folder is no project yet: there is nothing to collect.\n");
      return exitCode.fine;
    }
    const outcome = await collectGarbage(deps, { mode: options["dry-run"] ? "list" : "delete" });
    if (outcome.kind === "busy") return busy(outcome.writers);
    const { kind: _, ...report } = outcome;
    if (format === "json") await context.out.json({ ...report, bytesFreed: countFreedBytes(report) });
    else await context.out.write(asText(report));
    return exitCode.fine;
  },
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
  const { blobs, unreferenced, temporaries, writers, mode } = report;
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
  const deletable = unreferenced.filter(({ state }) => state !== "young");
  const total = `${formatNumber(deletable.length)} of ${formatNumber(blobs)} blobs and ${formatNumber(temporaries.length)} temporary files, ${formatBytes(sum(deletable) + sum(temporaries))}`;
  return `${listed}${leftovers}${open}${mode === "list" ? "would delete" : "deleted"} ${total}\n`;
}

const textByState = { young: "too young to delete", deletable: "", deleted: "deleted" } as const;
