import { printable } from "palimpsest/internal/schema/printable";
import type { PermissionAnswer, PermissionAsk } from "palimpsest/internal/ports/person";
import type { Leave } from "palimpsest/internal/ports/tools";
import { type ActLook, permissionLines, permissionTitle } from "./acts.ts";
import type { Dialog, DialogDeps } from "./dialog.ts";
import { ruleCharsMax } from "./limits.ts";
import { type MenuChoice, menuBlock, pressInMenu } from "./menu.ts";
import type { Picture } from "./picture.ts";
import type { Pressed, Script, Step } from "./script.ts";
import { dialogOf } from "./scripted.ts";

/**
 * Whether a call may run. Who says nothing has said no; Esc ends the turn, as it does while the agent works. A yes for once is a key; one that is kept is gone to and taken by
 * Enter, so that nobody who types something else keeps a rule by it.
 */
export const permissionDialog = (ask: PermissionAsk, deps: DialogDeps): Dialog<PermissionAnswer> =>
  dialogOf(permissionScript(ask, deps), deps);

export interface PermissionState {
  readonly at: number;
  /** `telling`: what the agent is to do instead is being written. */
  readonly kind: "choosing" | "telling";
}

function permissionScript(ask: PermissionAsk, look: ActLook): Script<PermissionState, PermissionAnswer> {
  const offers = offersOf(ask);
  const body = permissionLines(ask, look);
  const title = permissionTitle(ask);
  const noAt = offers.findIndex(({ choice }) => choice.key === "n");
  return {
    first: { at: 0, kind: "choosing" },
    harmless: { kind: "denied" },
    guard: "first",
    stray: (state) => ({ ...state, at: noAt }),
    press: (state, pressed) =>
      state.kind === "telling" ? pressTelling(state, pressed) : pressChoosing(state, { pressed, offers }),
    look: ({ at, kind }): Picture => {
      const shown = { id: "permission", title, body };
      return kind === "telling"
        ? { ...shown, writer: tellingLine, hints: ["enter says no and tells the agent", "esc back"] }
        : {
            ...shown,
            choices: menuBlock({ choices: offers.map(({ choice }) => choice), at }, look.theme),
            hints: ["enter takes ❯", "esc ends the turn", "↑↓ move", "or a letter"],
          };
    },
  };
}

const tellingLine = { id: "telling", kind: "line", text: "", prompt: "instead: " } as const;

interface Offer {
  readonly choice: MenuChoice;
  readonly outcome: { readonly kind: "answer"; readonly answer: PermissionAnswer } | { readonly kind: "tell" };
}

function offersOf({ suggestedRules: rules = [], projectLeave }: PermissionAsk): readonly Offer[] {
  const leaves = rules.length === 0 || rules.join().length > ruleCharsMax ? [] : leavesFor(rules, projectLeave);
  return [
    { choice: { label: "Yes, once", key: "y" }, outcome: answering({ kind: "once" }) },
    ...leaves,
    { choice: { label: "No", key: "n" }, outcome: answering({ kind: "denied" }) },
    { choice: { label: "No, and tell the agent what to do instead", key: "t" }, outcome: { kind: "tell" } },
  ];
}

/** The rules are spelled out: what is allowed from now on is more than what is asked. */
function leavesFor(rules: readonly string[], projectLeave: string | undefined): readonly Offer[] {
  const offer = (scope: Leave["scope"], choice: Required<Pick<MenuChoice, "label" | "description">>): Offer => ({
    choice: { ...choice, takenBy: "enter" },
    outcome: answering({ kind: "always", rules, scope }),
  });
  const shown = rules.map(printable).join(" and ");
  const kept = projectLeave === undefined ? shown : `${shown}, ${printable(projectLeave)}`;
  return [
    offer("session", { label: "Yes, and don't ask again in this session", description: shown }),
    offer("project", { label: "Yes, and don't ask again in this project", description: kept }),
  ];
}

const answering = (answer: PermissionAnswer): Offer["outcome"] => ({ kind: "answer", answer });

interface Choosing {
  readonly pressed: Pressed;
  readonly offers: readonly Offer[];
}

type PermissionStep = Step<PermissionState, PermissionAnswer>;

function pressChoosing(state: PermissionState, { pressed: { key }, offers }: Choosing): PermissionStep {
  if (key === "escape") return { kind: "answer", answer: { kind: "interrupted" } };
  const step = pressInMenu({ choices: offers.map(({ choice }) => choice), at: state.at }, key);
  if (step.kind === "none") return { kind: "pass" };
  if (step.kind === "move") return { kind: "to", state: { ...state, at: step.at } };
  const outcome = offers[step.at]?.outcome;
  if (outcome === undefined) return { kind: "pass" };
  return outcome.kind === "answer" ? outcome : { kind: "to", state: { at: step.at, kind: "telling" } };
}

function pressTelling(state: PermissionState, { key, written }: Pressed): PermissionStep {
  if (key === "escape") return { kind: "to", state: { ...state, kind: "choosing" } };
  if (key !== "enter") return { kind: "pass" };
  const words = written.text.trim();
  return { kind: "answer", answer: words === "" ? { kind: "denied" } : { kind: "denied", words } };
}
