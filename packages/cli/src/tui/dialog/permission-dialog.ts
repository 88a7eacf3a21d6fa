import { toPrintable } from "palimpsest/internal/schema/to-printable";
import type { PermissionAnswer, PermissionPrompt } from "palimpsest/internal/ports/user-port";
import type { AllowRuleGrant } from "palimpsest/internal/ports/tool";
import { type PermissionLook, permissionLines, permissionTitle } from "./permission-lines.ts";
import type { Dialog, DialogDeps, DialogContent, KeyPress, DialogScript, DialogStep } from "./dialog.ts";
import { ruleCharsMax } from "../limits.ts";
import { type MenuChoice, menuBlock, pressInMenu } from "./menu.ts";
import { createDialog } from "./create-dialog.ts";

/**
 * Whether a call may run. Who says nothing has said no; Esc ends the turn, as it does while the agent works. A yes for once is a key; one that is kept is gone to and taken by
 * Enter, so that nobody who types something else keeps a rule by it.
 */
export const permissionDialog = (ask: PermissionPrompt, deps: DialogDeps): Dialog<PermissionAnswer> =>
  createDialog(permissionScript(ask, deps), deps);

interface PermissionState {
  readonly at: number;
  /** `telling`: what the agent is to do instead is being written. */
  readonly kind: "choosing" | "telling";
}

function permissionScript(
  ask: PermissionPrompt,
  look: PermissionLook,
): DialogScript<PermissionState, PermissionAnswer> {
  const offers = createOffers(ask);
  const body = permissionLines(ask, look);
  const title = permissionTitle(ask);
  const noAt = offers.findIndex(({ choice }) => choice.key === "n");
  return {
    first: { at: 0, kind: "choosing" },
    harmless: { kind: "denied" },
    guard: "first",
    stray: (state) => ({ ...state, at: noAt }),
    press: (state, pressed) =>
      state.kind === "telling" ? pressWhileTelling(state, pressed) : pressWhileChoosing(state, { pressed, offers }),
    look: ({ at, kind }): DialogContent => {
      const shown = { id: "permission", title, body };
      return kind === "telling"
        ? { ...shown, writer: insteadField, hints: ["enter says no and tells the agent", "esc back"] }
        : {
            ...shown,
            choices: menuBlock({ choices: offers.map(({ choice }) => choice), at }, look.theme),
            hints: ["enter takes ❯", "esc ends the turn", "↑↓ move", "or a letter"],
          };
    },
  };
}

const insteadField = { id: "telling", kind: "line", text: "", prompt: "instead: " } as const;

interface Offer {
  readonly choice: MenuChoice;
  readonly outcome: { readonly kind: "answer"; readonly answer: PermissionAnswer } | { readonly kind: "tell" };
}

function createOffers({
  suggestedRules: rules = [],
  projectRuleNote: projectLeave,
}: PermissionPrompt): readonly Offer[] {
  const leaves = rules.length === 0 || rules.join().length > ruleCharsMax ? [] : allowRuleOffers(rules, projectLeave);
  return [
    { choice: { label: "Yes, once", key: "y" }, outcome: answerWith({ kind: "once" }) },
    ...leaves,
    { choice: { label: "No", key: "n" }, outcome: answerWith({ kind: "denied" }) },
    { choice: { label: "No, and tell the agent what to do instead", key: "t" }, outcome: { kind: "tell" } },
  ];
}

/** The rules are spelled out: what is allowed from now on is more than what is asked. */
function allowRuleOffers(rules: readonly string[], projectLeave: string | undefined): readonly Offer[] {
  const offer = (
    scope: AllowRuleGrant["scope"],
    choice: Required<Pick<MenuChoice, "label" | "description">>,
  ): Offer => ({
    choice: { ...choice, takenBy: "enter" },
    outcome: answerWith({ kind: "always", rules, scope }),
  });
  const shown = rules.map(toPrintable).join(" and ");
  const kept = projectLeave === undefined ? shown : `${shown}, ${toPrintable(projectLeave)}`;
  return [
    offer("session", { label: "Yes, and don't ask again in this session", description: shown }),
    offer("project", { label: "Yes, and don't ask again in this project", description: kept }),
  ];
}

const answerWith = (answer: PermissionAnswer): Offer["outcome"] => ({ kind: "answer", answer });

type PermissionStep = DialogStep<PermissionState, PermissionAnswer>;

function pressWhileChoosing(
  state: PermissionState,
  { pressed: { key }, offers }: { readonly pressed: KeyPress; readonly offers: readonly Offer[] },
): PermissionStep {
  if (key === "escape") return { kind: "answer", answer: { kind: "interrupted" } };
  const step = pressInMenu({ choices: offers.map(({ choice }) => choice), at: state.at }, key);
  if (step.kind === "none") return { kind: "pass" };
  if (step.kind === "move") return { kind: "to", state: { ...state, at: step.at } };
  const outcome = offers[step.at]?.outcome;
  if (outcome === undefined) return { kind: "pass" };
  return outcome.kind === "answer" ? outcome : { kind: "to", state: { at: step.at, kind: "telling" } };
}

function pressWhileTelling(state: PermissionState, { key, written }: KeyPress): PermissionStep {
  if (key === "escape") return { kind: "to", state: { ...state, kind: "choosing" } };
  if (key !== "enter") return { kind: "pass" };
  const words = written.text.trim();
  return { kind: "answer", answer: words === "" ? { kind: "denied" } : { kind: "denied", words } };
}
