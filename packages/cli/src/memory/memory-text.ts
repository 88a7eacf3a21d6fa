import type { Memory, MemoryAuthor, MemoryProvenance, MemoryRevision } from "palimpsest/internal/ports/memories";
import { formatAge, memoryTime, nameByAuthor } from "palimpsest/internal/memory/directory/show-memory";
import { millis } from "palimpsest/internal/schema/brand";
import { diffTexts } from "palimpsest/internal/text/diff-texts";
import { clip, quantity, shortId } from "../text/format.ts";
import { type Column, table } from "../text/table.ts";
import { shortPath } from "./find-memory.ts";

/** One line a memory: what a user needs to decide whether to look at it. */
export function memoryListText(
  memories: readonly Memory[],
  { nowMs, columns }: { readonly nowMs: number; readonly columns: number },
): string {
  const rows = memories.map((memory) => [
    shortPath(memory.path),
    memory.type ?? "-",
    formatAge(memoryTime(memory), millis(nowMs)),
    authorText(memory.author),
  ]);
  const widths = listColumns.map(({ title }, at) => Math.max(title.length, ...rows.map((row) => row[at]?.length ?? 0)));
  const room = Math.max(descriptionCharsMin, columns - widths.reduce((sum, width) => sum + width + 2, 0));
  const described = rows.map((row, at) => [...row, clip(describeInList(memories[at]), room)]);
  return table([...listColumns, { title: "what it says" }], described);
}

const listColumns: readonly Column[] = [{ title: "memory" }, { title: "type" }, { title: "age" }, { title: "by" }];
const descriptionCharsMin = 24;

const describeInList = (memory: Memory | undefined): string =>
  memory === undefined ? "" : `${memory.trust === "untrusted" ? "(untrusted) " : ""}${memory.description}`;

const trustText = ({ trust, path }: Memory): string =>
  trust === "trusted"
    ? "yes: it has your words, or nothing from outside was in the session"
    : `no: it may come from a tool result, the web, a program or an import, so the model gets it as a quotation only; \`palimpsest memory edit --trust ${path}\` vouches for it`;

/** Label and value, for what is known about a memory beside its text. */
export function memoryFacts(
  memory: Memory,
  { nowMs }: { readonly nowMs: number },
): readonly (readonly [string, string])[] {
  return [
    ["type", memory.type ?? "none"],
    ["age", formatAge(memoryTime(memory), millis(nowMs))],
    ["written", `by ${authorText(memory.author)}, revision ${memory.revision}`],
    ["from", provenanceText(memory.provenance)],
    ["trusted", trustText(memory)],
  ];
}

export function provenanceText({ session, messages, importedFrom, client, derivedFrom, at }: MemoryProvenance): string {
  const places = [
    ...(session === undefined ? [] : [`session ${shortId(session)}`]),
    ...(messages === undefined || messages.length === 0
      ? []
      : [
          `${quantity(messages.length, "message")} (${messages.slice(0, messagesNamedMax).map(shortId).join(", ")}${messages.length > messagesNamedMax ? ", …" : ""})`,
        ]),
    ...(importedFrom === undefined ? [] : [`imported from ${importedFrom}`]),
    ...(client === undefined ? [] : [`written by ${client} over MCP`]),
    ...(derivedFrom === undefined || derivedFrom.length === 0
      ? []
      : [`made of ${derivedFrom.map(({ path, revision }) => `${path} (${revision})`).join(", ")}`]),
  ];
  return `${places.length === 0 ? "no session" : places.join(", ")}, ${formatDay(at)}`;
}

const messagesNamedMax = 3;

/** Newest first, one line a revision. */
export const memoryLogText = (revisions: readonly MemoryRevision[]): string =>
  table(
    [{ title: "revision" }, { title: "when" }, { title: "by" }, { title: "files" }, { title: "why" }],
    revisions.map(({ id, at, author, provenance, message, changes }) => [
      id,
      formatDay(at),
      provenance.client === undefined ? authorText(author) : `${provenance.client} (MCP)`,
      changedFilesText(changes),
      `${message}${provenance.trust === "untrusted" ? " (untrusted)" : ""}`,
    ]),
  );

function changedFilesText(changes: MemoryRevision["changes"]): string {
  const named = changes.filter(({ path }) => path !== "MEMORY.md");
  const shown = (named.length === 0 ? changes : named).slice(0, filesNamedMax).map(({ path, before, after }) => {
    const sign = before === undefined ? "+" : after === undefined ? "-" : "";
    return `${sign}${path}`;
  });
  const others = Math.max(0, named.length - filesNamedMax);
  return [...shown, ...(others === 0 ? [] : [`${others} more`])].join(", ");
}

const filesNamedMax = 3;

/** What a change does to a text, line by line, with a few lines around it. */
export const changedLinesText = (before: string, after: string): string =>
  diffTexts({ before, after })
    .hunks.map((lines) => lines.map(({ kind, text }) => `  ${signByKind[kind]} ${text}`).join("\n"))
    .join("\n  …\n");

const signByKind = { same: " ", removed: "-", added: "+" } as const;

/** As the user reads them. */
export const authorText = (author: MemoryAuthor): string => (author === "user" ? "you" : nameByAuthor[author]);

/** `2026-11-17 18:20`, in the user's time zone. */
export function formatDay(atMs: number): string {
  const at = new Date(atMs);
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}`;
}

const two = (value: number): string => String(value).padStart(2, "0");
