import { dirname } from "node:path";
import type { EngineDeps } from "../engine.ts";
import { expand } from "../loop/expand.ts";
import type { Session } from "../loop/session.ts";
import type { PermissionDep, Tool } from "../ports/tools.ts";
import type { ToolUseId } from "../schema/brand.ts";
import { resultsFolder } from "../store/files/blobs.ts";
import { realRoots, resolveReal } from "../tool/confine.ts";
import { mayReadFor, permitFor } from "../tool/permission.ts";
import type { PermissionMode } from "../tool/permission/decide.ts";
import { parseRules } from "../tool/permission/rule.ts";
import type { Expanded } from "../tool/recall.ts";
import type { Environment } from "../tool/shell/environment.ts";
import type { Shell } from "../tool/shell/bash.ts";
import { builtinTools, type ToolsetDeps } from "../tool/toolset.ts";

export interface ToolChoice {
  readonly mode: PermissionMode;
  /** As in settings: `Bash(git status:*)`, `Edit(src/**)`. */
  readonly allow: readonly string[];
  readonly deny: readonly string[];
}

export interface ToolboxInput {
  readonly choice: ToolChoice;
  readonly deps: EngineDeps;
  readonly session: Session;
  readonly roots: readonly string[];
  readonly home: string;
  readonly env: Environment;
  readonly shell: Shell;
}

/** Tools with the state that their calls change. */
export interface Toolset {
  readonly tools: readonly Tool[];
  /** Where the shell stands, if it went elsewhere. */
  readonly cwd: () => string | undefined;
  /** A fork's own: the same definitions, and a copy of the state. */
  readonly forked: () => Toolset;
}

export interface Toolbox extends PermissionDep, Toolset {
  /** Rules that could not be read. */
  readonly problems: readonly string[];
}

/** The built-in tools of one session, with what they may do. */
export async function toolbox({ choice, deps, session, home, env, shell, ...input }: ToolboxInput): Promise<Toolbox> {
  const roots = await realRoots(input.roots);
  const readRoots = await offloadedBy(deps, session);
  const { rules, problems } = parseRules({ allow: choice.allow, deny: choice.deny });
  const fixed: Stateless = {
    isShown: (toolUse) => isShownWhole(session, toolUse),
    mayRead: mayReadFor({ rules, roots, home }),
    roots,
    home,
    env,
    shell,
    expand: (id) => recalled({ deps, session, id }),
  };
  const tools = toolset(fixed, { standing: { cwd: undefined }, todos: { list: [] } });
  return { ...tools, problems, permit: permitFor({ mode: choice.mode, rules, roots, readRoots, home }) };
}

/** Previews name files here for the model to read; the first offload makes the folder. Nowhere in a store without files. */
async function offloadedBy({ transcripts }: EngineDeps, { id }: Session): Promise<readonly string[]> {
  const transcript = transcripts.whereIs(id);
  if (transcript === undefined) return [];
  const resolved = await resolveReal(resultsFolder(dirname(transcript), id), "/");
  return resolved.kind === "real" ? [resolved.path] : [];
}

type ToolState = Pick<ToolsetDeps, "standing" | "todos">;
type Stateless = Omit<ToolsetDeps, keyof ToolState>;

const toolset = (fixed: Stateless, { standing, todos }: ToolState): Toolset => ({
  tools: builtinTools({ ...fixed, standing, todos }),
  cwd: () => standing.cwd,
  forked: () => toolset(fixed, { standing: { ...standing }, todos: { ...todos } }),
});

/** As the tool gave it: not offloaded, cleared or covered by a boundary. */
const isShownWhole = ({ fold }: Session, toolUse: ToolUseId): boolean =>
  !fold.projection.decisions.has(toolUse) &&
  fold.messages.some(({ content }) =>
    content.some((block) => block.type === "tool_result" && block.tool_use_id === toolUse),
  );

interface Recalling {
  readonly deps: EngineDeps;
  readonly session: Session;
  readonly id: string;
}

async function recalled({ deps, session, id }: Recalling): Promise<Expanded> {
  const source = await deps.transcripts.openForReading(session.id);
  if (source === undefined) return { kind: "missing", why: "the transcript can't be read" };
  try {
    const found = await expand(deps, source, id);
    switch (found.kind) {
      case "entry":
      case "result":
      case "blob":
        return { kind: "found", text: new TextDecoder().decode(found.bytes) };
      case "not-found":
        return { kind: "missing", why: "nothing has this id" };
      case "ambiguous":
        return { kind: "missing", why: `several ids begin like this: ${found.candidates.slice(0, 5).join(", ")}` };
      case "unanswered":
        return { kind: "missing", why: "the call has no result" };
      case "blob-missing":
        return { kind: "missing", why: "its content is no longer on disk" };
    }
  } finally {
    await source.close();
  }
}
