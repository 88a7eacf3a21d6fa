import { SessionDream } from "palimpsest/internal/context/memory/session-dream";
import type { ClockDep, IdsDep } from "palimpsest/internal/ports/clock-dep";
import { bytes, sessionId } from "palimpsest/internal/schema/brand";
import { openSession } from "palimpsest/internal/session/session";
import { resolveForModel } from "palimpsest/internal/settings/resolved-settings";
import { resolveSettings } from "palimpsest/internal/settings/resolve-settings";
import { memoryBlobs } from "palimpsest/internal/store/memory/memory-blobs";
import { memoryTranscripts } from "palimpsest/internal/store/memory/memory-transcripts";
import { filePorts } from "palimpsest/internal/store/files/store";

/**
 * A dream over a project's files whose consolidator is a script: it merges `b.md` into `a.md`, if both are there, and else
 * writes a line of the log `log.md` into `dreams.md`.
 */
export async function openDream({ folder, deps, line }: DreamOptions) {
  const { memories, dreams } = filePorts({ deps, folder, durability: "always" });
  const opened = await openSession(
    { ...deps, transcripts: memoryTranscripts({ deps }), blobs: memoryBlobs() },
    { id: sessionId("s"), circumstances: { cwd: "/", version: "0" }, mode: "create" },
  );
  if (opened.kind !== "open") throw new Error(JSON.stringify(opened));
  const other = {
    firstPrompt: "",
    summary: undefined,
    messageCount: 1,
    created: undefined,
    gitBranch: undefined,
    projectPath: undefined,
    isSidechain: false,
    sizeBytes: bytes(1),
  };
  const settings = resolveForModel(resolveSettings([]), { model: "claude-sonnet-5-5" });
  const read = async (path: string) => (await memories.read(path))?.text;
  const dream = new SessionDream(
    {
      ...deps,
      memories,
      dreams,
      sessions: {
        list: async () =>
          [1, 2, 3, 4, 5].map((n) => ({
            ...other,
            sessionId: sessionId(`o${n}`),
            modified: new Date(deps.now()).toISOString(),
          })),
      },
      settings: () => settings,
      tools: () => ({ memory: undefined, recall: undefined, read: [], sandbox: "unheld" }),
      emit: () => undefined,
      spend: { mayStart: async () => ({ kind: "ok" }) },
      known: () => undefined,
      fixedTokens: () => 0,
      fork: {
        model: "m",
        run: async () => {
          const [a, b] = [await read("a.md"), await read("b.md")];
          const changes =
            a !== undefined && b !== undefined
              ? [
                  { path: "a.md", text: `${a}${b}` },
                  { path: "b.md", delete: true },
                ]
              : [{ path: "dreams.md", text: `${(await read("dreams.md")) ?? ""}${line()}\n` }];
          return { kind: "answered", text: JSON.stringify({ changes, removed: [] }), said: [], usage: [] };
        },
      },
    },
    { session: opened.session },
  );
  return { dream, memories, dreams, session: opened.session };
}

interface DreamOptions {
  readonly folder: string;
  readonly deps: ClockDep & IdsDep;
  readonly line: () => string;
}
