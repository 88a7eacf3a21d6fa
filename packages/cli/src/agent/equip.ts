import { homedir } from "node:os";
import { compactionAsksFor } from "./compaction-asks.ts";
import type { FollowedSettings } from "./follow-settings.ts";
import type { CompactionAsks } from "palimpsest/internal/ports/compaction-asks";
import type { RunningGroups } from "palimpsest/internal/ports/running-groups";
import type { LoopEvent } from "palimpsest/internal/schema/event";
import { numbersInForce } from "palimpsest/internal/settings/numbers";
import { guardedPaths } from "../settings/files.ts";
import type { Shell } from "../tool/shell/bash.ts";
import { PageCache } from "../tool/web/page-cache.ts";
import type { AgentOptions } from "./agent-options.ts";
import type { Assembling } from "./assembling.ts";
import { keptTools } from "./kept-tools.ts";
import { type Leaves, leavesFor } from "./leaves.ts";
import type { JobsAndServers } from "./jobs-and-servers.ts";
import { type Toolbox, toolbox } from "./toolbox.ts";
import { afterTelling, skillsAndPlan, type SkillsAndPlan } from "./skills-and-plan.ts";
import { narrowingChoice, type ToolChoice, toolChoice, whileSame } from "./tool-choice.ts";

interface Equipping {
  readonly settings: FollowedSettings;
  readonly model: string;
  readonly cwd: string;
  readonly shell: Shell;
  readonly groups: RunningGroups | undefined;
  readonly beside: JobsAndServers;
  readonly toolsHad: ReadonlySet<string>;
}

/** The session's tools, and where its agent asks for compaction. */
export async function equip(parts: Assembling, input: Equipping): Promise<Equipped> {
  const { engine, options, deps, root, session } = parts;
  const { settings, model, cwd, shell, groups } = input;
  const isOn = () => numbersInForce(settings.current().settings, { model }).switches["compact.agent"].value;
  const asks = await compactionAsksFor(deps, { session, model, isOn });
  const own = await skillsAndPlan(parts, choiceFrom(options, settings));
  const { skillPlaces, planning, mode } = own;
  const leaves = leavesFor({
    engine,
    flags: options.flags,
    choice: own.choice,
    inSettings: () => settings.current().settings["permissions.allow"].value,
  });
  const box = await toolbox({
    choice: leaves.choice,
    deps,
    session,
    env: options.env,
    shell,
    groups,
    roots: [root, cwd],
    home: homedir(),
    sandbox: { use: input.beside.sandbox, ownHome: engine.home, temporary: input.beside.temporary },
    guarded: guardedPaths(engine.home, settings.current().files),
    compactionAsks: asks,
    skillPlaces,
    planState: () => mode.state(),
    ...keptTools({ person: options.person, planning, jobs: input.beside.jobs }, input.toolsHad),
    servers: input.beside.servers,
    leaves,
    web: options.net && { net: options.net, pages: new PageCache() },
  });
  input.beside.reachThrough(box.network);
  const telling = { session, mode, skills: box.skills, cwd };
  return { box, asks, own, told: (turn) => afterTelling(telling, turn), leaves };
}

interface Equipped {
  readonly box: Toolbox;
  readonly asks: CompactionAsks | undefined;
  readonly own: SkillsAndPlan;
  /** A turn, and before it what the model does not know yet. */
  readonly told: (turn: AsyncIterable<LoopEvent>) => AsyncGenerator<LoopEvent>;
  readonly leaves: Leaves;
}

function choiceFrom({ tools, carriedMode }: AgentOptions, settings: FollowedSettings): () => ToolChoice {
  const wishes = { ...tools, mode: carriedMode ?? tools.mode };
  const current = () => settings.current().settings;
  const narrowed = narrowingChoice(toolChoice(wishes, current()));
  return whileSame(current, (now) => narrowed(toolChoice(wishes, now)));
}
