import type { TrustAsk, TrustItem } from "../../agent/pending-trust.ts";
import type { Theme } from "../theme/theme.ts";
import type { Dialog, DialogDeps } from "./dialog.ts";
import { exactly, type Lines, stacked, words } from "./lines.ts";
import { type MenuChoice, menuBlock, pressInMenu } from "./menu.ts";
import type { Script } from "./script.ts";
import { dialogOf } from "./scripted.ts";

/** `later`: it counts for nothing now, and is asked about again. `never`: it is not asked about again. */
export type TrustDecision = "allow" | "later" | "never";

/**
 * Whether the project's settings may do more than forbid. Who says nothing trusts nothing. What is kept is gone to and taken
 * by Enter: no letter of a sentence that was meant for the editor decides it.
 */
export const trustDialog = (ask: TrustAsk, deps: DialogDeps): Dialog<TrustDecision> =>
  dialogOf(trustScript(ask, deps.theme), deps);

export interface TrustState {
  readonly at: number;
}

function trustScript(ask: TrustAsk, theme: Theme): Script<TrustState, TrustDecision> {
  const body = trustLines(ask, theme);
  const choices = offers.map(({ choice }) => choice);
  return {
    first: { at: notNow },
    harmless: "later",
    guard: "first",
    stray: () => ({ at: notNow }),
    press: ({ at }, { key }) => {
      if (key === "escape" || key === "ctrl+c") return { kind: "answer", answer: "later" };
      const step = pressInMenu({ choices, at }, key);
      if (step.kind === "none") return { kind: "pass" };
      if (step.kind === "move") return { kind: "to", state: { at: step.at } };
      return { kind: "answer", answer: offers[step.at]?.decision ?? "later" };
    },
    look: ({ at }) => ({
      id: "trust",
      title: "Do you trust this project?",
      body,
      choices: menuBlock({ choices, at }, theme),
      hints: ["enter takes ❯", "esc not now", "↑↓ move"],
    }),
  };
}

interface Offer {
  readonly choice: MenuChoice;
  readonly decision: TrustDecision;
}

const offers: readonly Offer[] = [
  { choice: { label: "Yes, I trust it: from now on its settings count", takenBy: "enter" }, decision: "allow" },
  { choice: { label: "Not now", key: "n" }, decision: "later" },
  { choice: { label: "No, and don't ask again", takenBy: "enter" }, decision: "never" },
];
/** Where Enter is at first. */
const notNow = 1;

/** What runs by itself stands out. */
function trustLines({ root, items }: TrustAsk, theme: Theme): Lines {
  const line = ({ does, text, from }: TrustItem): Lines => {
    const said = `${text}  [${from.startsWith(`${root}/`) ? from.slice(root.length + 1) : from}]`;
    return does === "runs" || does === "allows"
      ? exactly(said, { theme, first: `! ${does.padEnd(8)}`, paint: theme.warning })
      : exactly(said, { theme, first: `  ${does.padEnd(8)}` });
  };
  return stacked([
    exactly(root, { theme, first: "  folder  " }),
    words("Its files may have come with a clone. Trusted, they do this whenever you work here:", { theme }),
    ...items.map(line),
    words("A yes counts for every project below this folder, too, and for what its files say later.", { theme }),
    words("Untrusted, they can only forbid. What you allow by answering questions counts either way.", { theme }),
  ]);
}
