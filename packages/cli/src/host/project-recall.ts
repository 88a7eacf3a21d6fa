import type {
  OpenRecallOutcome,
  RecalledOriginal,
  RecallIndex,
  RecallOptions,
  RecallSource,
} from "palimpsest/internal/ports/recall-index";
import type { SearchOutcome } from "palimpsest/internal/ports/session-search";
import { redactSecrets } from "palimpsest/internal/memory/redact-secrets";
import { openStoreRecall } from "palimpsest/internal/session/open-recall";
import { findProject } from "palimpsest/internal/store/files/project";
import { projectSources } from "./recall-sources.ts";
import { recallCatchUpMs } from "./limits.ts";
import { sha256 } from "./project-store.ts";
import { createSecretScanner } from "./secret-scanner.ts";
import type { LocatedProject } from "./workspace.ts";

interface RecallPlace {
  readonly project: Pick<LocatedProject, "deps" | "root" | "folder">;
  /** Our own home. */
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The index over everything that was said in a project, by our agent and by others. Must not reject. */
export const openProjectRecall = async (place: RecallPlace): Promise<OpenRecallOutcome> =>
  await openStoreRecall(place.project.deps, { sources: projectRecallSources(place), maskText: createMask() });

/** With secretlint's rules in addition to ours. */
export function createMask(): (text: string) => Promise<string> {
  const scanner = createSecretScanner();
  return async (text) => (await redactSecrets(text, scanner)).text;
}

/** What is searched beside our own sessions. */
export function projectRecallSources({ project: { root, folder }, home, env }: RecallPlace): readonly RecallSource[] {
  const isOurs = async (directory: string): Promise<boolean> =>
    (await findProject({ home, cwd: directory }))?.folder === folder;
  return projectSources({ env, sha256, root, folder, isOurs });
}

export type ProjectSearchOutcome =
  | { readonly kind: "searched"; readonly searched: SearchOutcome; readonly isComplete: boolean }
  | { readonly kind: "unavailable"; readonly why: string };

/** Searches of a running agent over the whole project. Nothing is opened before the first, and nothing stays open. */
export interface ProjectRecall {
  /** Indexes what is new first, for a limited time; what is left over follows with the next search. */
  search(options: RecallOptions): Promise<ProjectSearchOutcome>;
  /** The original behind an id in a session of any agent. Undefined if nothing has it. */
  expand(session: string, id: string): Promise<RecalledOriginal | undefined>;
}

export function createProjectRecall({
  locate,
  home,
  env,
}: {
  readonly locate: () => Promise<RecallPlace["project"] | undefined>;
} & Omit<RecallPlace, "project">): ProjectRecall {
  const maskText = createMask();
  const prepare = async () => {
    const project = await locate();
    return project === undefined
      ? undefined
      : { deps: project.deps, sources: projectRecallSources({ project, home, env }) };
  };
  // Kept, because sources remember which logs belong to the project.
  let prepared: ReturnType<typeof prepare> | undefined;
  const withIndex = async <Result>(act: (index: RecallIndex) => Promise<Result>): Promise<Result | string> => {
    const parts = await (prepared ??= prepare());
    if (parts === undefined) return "the project's folder can't be written";
    const opened = await openStoreRecall(parts.deps, { sources: parts.sources, maskText });
    if (opened.kind !== "open") return opened.kind === "failed" ? opened.message : opened.why;
    try {
      return await act(opened.index);
    } finally {
      await opened.index.close();
    }
  };
  return {
    search: async (options) => {
      const outcome = await withIndex(async (index): Promise<ProjectSearchOutcome> => {
        const caughtUp = await index.catchUp({ signal: AbortSignal.timeout(recallCatchUpMs) });
        return {
          kind: "searched",
          searched: await index.search(options),
          isComplete: caughtUp.kind === "caught-up",
        };
      });
      return typeof outcome === "string" ? { kind: "unavailable", why: outcome } : outcome;
    },
    expand: async (session, id) => {
      const outcome = await withIndex(async (index) => {
        const document = await index.open(session);
        const original = await document?.expand(id);
        await document?.close();
        return original;
      });
      return typeof outcome === "string" ? undefined : outcome;
    },
  };
}
