import { toPrintable } from "palimpsest/internal/text/to-printable";
import type { PermissionAnswer, PermissionPrompt } from "palimpsest/internal/ports/user-port";
import type { AllowRuleGrant } from "palimpsest/internal/ports/tool";
import { type PermissionLook, permissionLines, permissionTitle } from "./permission-lines.ts";
import type { Dialog, DialogDeps, DialogContent, KeyPress, DialogScript, DialogStep } from "./dialog.ts";
import { ruleCharsMax } from "../limits.ts";
import { type MenuChoice, menuBlock, pressInMenu } from "./menu.ts";
import { createDialog } from "./create-dialog.ts";

/**
 * Asks whether a call may run. No answer means no; Esc ends the turn, as it does while the agent works. One key allows the
 * call once. Lasting permission has to be selected and taken by Enter, so that stray typing never creates an allow rule.
 */
export const permissionDialog = (ask: PermissionPrompt, deps: DialogDeps): Dialog<PermissionAnswer> =>
  createDialog(permissionScript(ask, deps), deps);

interface PermissionState {
  readonly at: number;
  /** `telling`: the user is writing what the agent should do instead. */
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
      const content = { id: "permission", title, body };
      return kind === "telling"
        ? { ...content, writer: insteadField, hints: ["enter says no and tells the agent", "esc back"] }
        : {
            ...content,
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

function createOffers({ suggestedRules: rules = [], projectRuleNote }: PermissionPrompt): readonly Offer[] {
  const isRuleOffered = rules.length > 0 && rules.join().length <= ruleCharsMax;
  return [
    { choice: { label: "Yes, once", key: "y" }, outcome: answerWith({ kind: "once" }) },
    ...(isRuleOffered ? allowRuleOffers(rules, projectRuleNote) : []),
    { choice: { label: "No", key: "n" }, outcome: answerWith({ kind: "denied" }) },
    { choice: { label: "No, and tell the agent what to do instead", key: "t" }, outcome: { kind: "tell" } },
  ];
}

/** The rules are shown in full, because they allow more than this call. */
function allowRuleOffers(rules: readonly string[], projectRuleNote: string | undefined): readonly Offer[] {
  const offer = (
    scope: AllowRuleGrant["scope"],
    choice: Required<Pick<MenuChoice, "label" | "description">>,
  ): Offer => ({
    choice: { ...choice, takenBy: "enter" },
    outcome: answerWith({ kind: "always", rules, scope }),
  });
  const ruleText = rules.map(toPrintable).join(" and ");
  const projectText = projectRuleNote === undefined ? ruleText : `${ruleText}, ${toPrintable(projectRuleNote)}`;
  return [
    offer("session", { label: "Yes, and don't ask again in this session", description: ruleText }),
    offer("project", { label: "Yes, and don't ask again in this project", description: projectText }),
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
