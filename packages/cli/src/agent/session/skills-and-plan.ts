import { realpath } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { createPlanning, SessionMode } from "./session-mode.ts";
import { announceSkills } from "./announce-skills.ts";
import type { Session } from "palimpsest/internal/session/session";
import type { PlanMode } from "palimpsest/internal/ports/plan-mode";
import type { LoopEvent } from "palimpsest/internal/schema/loop-event";
import { findSkills, type SkillLocation } from "../../tool/skill/find-skills.ts";
import { findCallableSkills, type Skills } from "../../tool/skill/skill-tool.ts";
import { findGitBranch } from "../../tool/working-state/place-part.ts";
import type { AgentParts } from "../agent-options.ts";
import type { PermissionChoice } from "../tools/permission-choice.ts";

/** What a session has besides the state of its tools: skills, a mode that can change, and plan review. */
export interface SkillsAndPlan {
  readonly mode: SessionMode;
  /** With the current mode. */
  readonly choice: () => PermissionChoice;
  /** Empty if there were no skills when the session was opened: then there is no tool for them either. */
  readonly skillPlaces: readonly SkillLocation[];
  /** Absent if the user can't review plans: then there is no tool for it. */
  readonly planning?: PlanMode | undefined;
  readonly warnings: readonly string[];
}

/** `choice`: from flags and settings; the same object while nothing has changed. */
export async function openSkillsAndPlan(parts: AgentParts, choice: () => PermissionChoice): Promise<SkillsAndPlan> {
  const { options, session } = parts;
  const places = await findSkillPlaces(parts);
  const { skills, problems } = await findSkills(places);
  const mode = new SessionMode({ session, opening: () => choice().mode });
  const warnings = problems.map((problem) => `Skills: ${problem}`);
  // A caller who resumes a session may name a mode for it, once; a copy is never wider than its source.
  const mayNameMode = options.session.kind === "resume" && options.carriedMode === undefined;
  const requested = mayNameMode ? options.tools.mode : undefined;
  const changed = requested === undefined || requested === mode.current() ? undefined : await mode.change(requested);
  if (changed?.kind === "failed") warnings.push(`The permission mode stays ${mode.current()}: ${changed.message}`);
  return {
    mode,
    choice: withMode(choice, mode),
    skillPlaces: skills.length === 0 ? [] : places,
    planning: openPlanning(parts, mode),
    warnings,
  };
}

/** The user's own come first: skills from a clone replace none of them. */
async function findSkillPlaces({ workspace, options, root }: AgentParts): Promise<readonly SkillLocation[]> {
  const claudeFolder = options.env["CLAUDE_CONFIG_DIR"] ?? join(homedir(), ".claude");
  const within = await realpath(root);
  return [
    { folder: join(workspace.home, "skills") },
    { folder: join(claudeFolder, "skills") },
    { folder: join(root, ".palimpsest", "skills"), within },
    { folder: join(root, ".claude", "skills"), within },
  ];
}

function openPlanning({ deps, options, session }: AgentParts, mode: SessionMode): PlanMode | undefined {
  const file = deps.planFileFor?.(session.id);
  if (options.planReview === undefined || file === undefined) return undefined;
  return createPlanning({ mode, file, user: options.planReview });
}

/** Returns the same object while neither has changed: rules are parsed again for each new object. */
function withMode(choice: () => PermissionChoice, mode: Pick<SessionMode, "current">): () => PermissionChoice {
  let last: { readonly from: PermissionChoice; readonly choice: PermissionChoice } | undefined;
  return () => {
    const [from, now] = [choice(), mode.current()];
    if (last === undefined || last.from !== from || last.choice.mode !== now)
      last = { from, choice: { ...from, mode: now } };
    return last.choice;
  };
}

interface AnnounceFirstInput {
  readonly session: Session;
  readonly mode: Pick<SessionMode, "tell">;
  /** Absent if the agent has no tool for them. */
  readonly skills: Skills | undefined;
  readonly cwd: string;
}

/**
 * A turn that has not begun, preceded by what the model does not know yet of the mode and the skills. Write failures
 * are not reported here: the turn itself meets the same disk and reports them.
 */
export async function* announceFirst(
  { session, mode, skills, cwd }: AnnounceFirstInput,
  turn: AsyncIterable<LoopEvent>,
): AsyncGenerator<LoopEvent> {
  session.recordBranch(await findGitBranch(cwd));
  await mode.tell();
  if (skills !== undefined) await announceSkills(session, await findCallableSkills(skills));
  yield* turn;
}
