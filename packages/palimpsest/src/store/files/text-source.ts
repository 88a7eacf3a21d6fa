import { memoryRole } from "../../memory/directory/memory-path.ts";
import { readdir, stat } from "node:fs/promises";
import { basename, dirname, join, sep } from "node:path";
import type { OpenedDocument, RecallDocument, RecallSource } from "../../ports/recall-index.ts";
import { readSmallFile } from "./disk.ts";
import { indexedTextBytesMax } from "../limits.ts";
import { isSessionName } from "../is-session-name.ts";
import { sessionId } from "../../schema/brand.ts";

/** The notes of all sessions of a project: `<folder>/<session>/notes.md`. */
export const notesSource = (folder: string): RecallSource =>
  textSource("notes", {
    list: async () => {
      const names = await readdir(folder).catch((): string[] => []);
      return names.filter((name) => isSessionName(sessionId(name))).map((name) => join(folder, name, "notes.md"));
    },
    sessionOf: (path) => basename(dirname(path)),
    idOf: (path) => basename(path),
    titleOf: () => "Notes",
  });

/** The memories of a folder, without its index and logs, which only repeat them, and hidden files. A memory counts as a session of its own. */
export const memorySource = (folder: string): RecallSource =>
  textSource("memory", {
    list: async () => {
      const names = await readdir(folder, { recursive: true }).catch((): string[] => []);
      return names
        .filter((name) => name.endsWith(".md") && !name.split(sep).some((part) => part.startsWith(".")))
        .filter((name) => memoryRole(name.replaceAll(sep, "/")) === "memory")
        .map((name) => join(folder, name));
    },
    sessionOf: (path) => path.slice(folder.length + 1),
    idOf: (path) => path.slice(folder.length + 1),
    titleOf: (path) => path.slice(folder.length + 1),
  });

interface TextFiles {
  readonly list: () => Promise<readonly string[]>;
  readonly sessionOf: (path: string) => string;
  readonly idOf: (path: string) => string;
  readonly titleOf: (path: string) => string;
}

/** Short texts, which are read as a whole whenever they change. */
function textSource(name: "notes" | "memory", { list, sessionOf, idOf, titleOf }: TextFiles): RecallSource {
  return {
    name,
    list: async () => {
      const documents: RecallDocument[] = [];
      for (const path of await list()) {
        const stats = await stat(path).catch(() => undefined);
        if (stats === undefined || !stats.isFile() || stats.size > indexedTextBytesMax) continue;
        documents.push({
          key: path,
          session: sessionOf(path),
          title: titleOf(path),
          version: `${stats.size} ${stats.mtimeMs} ${stats.ino}`,
          size: stats.size,
          modified: stats.mtime.toISOString(),
        });
      }
      return documents;
    },
    open: async (key) => {
      const text = await readSmallFile(key, indexedTextBytesMax).catch(() => undefined);
      const modified = await stat(key).then(
        ({ mtime }) => mtime.toISOString(),
        () => undefined,
      );
      return text === undefined ? undefined : textDocument({ key, id: idOf(key), kind: name, text, at: modified });
    },
  };
}

interface TextDocument {
  readonly key: string;
  readonly id: string;
  readonly kind: "notes" | "memory";
  readonly text: string;
  readonly at: string | undefined;
}

function textDocument({ key, id, kind, text, at }: TextDocument): OpenedDocument {
  return {
    key,
    // Never equal to an earlier one: a text that changed is indexed anew.
    mark: async () => `${kind} ${at}`,
    read: async function* read() {
      yield { texts: [{ kind, id, at, text, form: "verbatim", from: "line" }], end: text.length };
    },
    expand: async (wanted) =>
      wanted === id || wanted === key ? { kind: "blob", bytes: new TextEncoder().encode(text) } : undefined,
    close: async () => {},
  };
}
