import type { Engine, LeavePlace } from "../host/engine.ts";
import type { LeaveDep, LeaveKept } from "palimpsest/internal/ports/tools";
import type { FlagInput } from "../settings/flags.ts";
import { ruleProblems } from "../tool/rule-problems.ts";
import { type ToolChoice, whileSame } from "./tool-choice.ts";

export interface LeavesInput {
  readonly engine: Pick<Engine, "addLeave" | "leavePlace" | "settings">;
  readonly flags: readonly FlagInput[];
  /** Without what a person allows while the session is open; the same object while nothing has changed. */
  readonly choice: () => ToolChoice;
  /** What the settings allow at this moment. */
  readonly inSettings: () => readonly string[];
}

/** What a person allows for good while the session is open. Rules in `deny` and `ask` still count before it. */
export interface Leaves extends LeaveDep {
  readonly choice: () => ToolChoice;
  /** What was allowed so far, oldest first. */
  readonly given: () => readonly string[];
}

/**
 * Where a rule that counts stands. `here`: nowhere but in this session. `written`: in a settings file, of which those who
 * follow the settings have not heard yet. `seen`: they have; taken out there, it counts no more.
 */
type Held = "here" | "written" | "seen";

export function leavesFor({ engine, flags, choice, inSettings }: LeavesInput): Leaves {
  let given: readonly string[] = [];
  const held = new Map<string, Held>();
  let widened = choice;
  const widen = (): void => {
    widened = whileSame(choice, (now) => {
      keepUp(held, new Set(inSettings()));
      return { ...now, allow: [...now.allow, ...held.keys()] };
    });
  };
  return {
    choice: () => widened(),
    given: () => given,
    projectLeave: async () => placeWords(await engine.leavePlace()),
    allowAlways: async ({ rules, scope }) => {
      const [problem] = ruleProblems({ allow: rules });
      if (problem !== undefined) return { kind: "wrong", why: problem.what };
      given = [...new Set([...given, ...rules])];
      for (const rule of rules) if (!held.has(rule)) held.set(rule, "here");
      widen();
      if (scope === "session") return { kind: "kept" };
      const kept = await writtenDown({ engine, flags }, rules);
      if (kept.kind === "kept" && kept.warning === undefined) {
        for (const rule of rules) held.set(rule, "written");
        widen();
      }
      return kept;
    },
  };
}

function keepUp(held: Map<string, Held>, now: ReadonlySet<string>): void {
  for (const [rule, state] of Array.from(held)) {
    if (state === "here") continue;
    if (now.has(rule)) held.set(rule, "seen");
    else if (state === "seen") held.delete(rule);
  }
}

const placeWords = ({ path, root }: LeavePlace): string => `kept in ${path} for ${root}`;

/** For this session the rules count in any case. */
async function writtenDown(
  { engine, flags }: Pick<LeavesInput, "engine" | "flags">,
  rules: readonly string[],
): Promise<LeaveKept> {
  const added = await engine.addLeave(rules);
  switch (added.kind) {
    case "added":
    case "known": {
      const { reading } = await engine.settings({ flags });
      const counting = new Set(reading.settings["permissions.allow"].value);
      const { path } = await engine.leavePlace();
      return rules.every((rule) => counting.has(rule)) ? { kind: "kept" } : onlyNow(`It does not count in ${path}.`);
    }
    case "refused":
      return onlyNow(added.why);
    case "failed":
      return onlyNow(added.message);
  }
}

const onlyNow = (why: string): LeaveKept => ({
  kind: "kept",
  warning: `What you allowed counts only while this session is open. ${why}`,
});
