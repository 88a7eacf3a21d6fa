import { toPrintable } from "palimpsest/internal/text/to-printable";
import type { PermissionAnswer, PermissionPrompt } from "palimpsest/internal/ports/user-port";
import type { AllowRuleGrant, ToolAction, ShellAction } from "palimpsest/internal/ports/tool";
import type { Dialog, DialogDeps, DialogContent, KeyPress, DialogScript, DialogStep } from "./dialog.ts";
import { ruleCharsMax, shortInputCharsMax, dialogBodyCharsMax } from "../limits.ts";
import { type MenuChoice, menuBlock, pressInMenu } from "./menu.ts";
import { createDialog } from "./create-dialog.ts";
import { resolve } from "node:path";
import { formatCount, plural } from "palimpsest/internal/text/format-count";
import { type Json, textField as textOf } from "palimpsest/internal/schema/json";
import {
  backgroundText,
  parseTextChange,
  hostsToConnect,
  isInBackground,
  parseServerCall,
  describeSandbox,
  type TextChange,
  shortPath,
  shortPaths,
} from "../text/call-title.ts";
import { exactLines, type RenderLines, stackLines, singleLine, textLines } from "./render-lines.ts";
import { safeCutIndex } from "palimpsest/internal/text/safe-cut-index";
import { formatChangeCounts, drawChange } from "../draw/draw-change.ts";
import type { Theme } from "../theme.ts";

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

function createOffers({ suggestedRules: rules = [], ...prompt }: PermissionPrompt): readonly Offer[] {
  const isRuleOffered = rules.length > 0 && rules.join().length <= ruleCharsMax;
  return [
    { choice: { label: "Yes, once", key: "y" }, outcome: answerWith({ kind: "once" }) },
    ...(isRuleOffered ? allowRuleOffers(rules, prompt) : []),
    { choice: { label: "No", key: "n" }, outcome: answerWith({ kind: "denied" }) },
    { choice: { label: "No, and tell the agent what to do instead", key: "t" }, outcome: { kind: "tell" } },
  ];
}

/** The rules are shown in full, because they allow more than this call. */
function allowRuleOffers(
  rules: readonly string[],
  { projectRuleNote, ruleScope }: Pick<PermissionPrompt, "projectRuleNote" | "ruleScope">,
): readonly Offer[] {
  const offer = (
    scope: AllowRuleGrant["scope"],
    choice: Required<Pick<MenuChoice, "label" | "description">>,
  ): Offer => ({
    choice: { ...choice, takenBy: "enter" },
    outcome: answerWith({ kind: "always", rules, scope }),
  });
  const ruleText = rules.map(toPrintable).join(" and ");
  const projectText = projectRuleNote === undefined ? ruleText : `${ruleText}, ${toPrintable(projectRuleNote)}`;
  if (ruleScope === "agent")
    return [offer("session", { label: "Yes, and don't ask again for this agent", description: ruleText })];
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

/** Names what would happen, or the tool if the actions do not say. */
function permissionTitle({ tool, acts, input }: PermissionPrompt): string {
  const change = parseTextChange(tool, input);
  if (change !== undefined) return change.before === undefined ? "Write this file?" : "Change this file?";
  const kinds = new Set(acts.map(({ kind }) => kind));
  if (acts.some((act) => act.kind === "shell" && act.outsideReason !== undefined))
    return "Run this command outside the sandbox?";
  if (kinds.has("shell")) return "Run this command?";
  if (hostsToConnect({ tool, acts }) !== undefined) return "Let this command connect?";
  if (kinds.has("fetch")) return "Ask this address?";
  const called = parseServerCall(tool, input);
  if (called !== undefined) return `Call ${singleLine(called.server)} · ${singleLine(called.tool)}?`;
  if (kinds.has("mcp")) return "Call this tool of a server?";
  return `Let the agent use ${singleLine(tool)}?`;
}

/** What would happen, then why the user is asked. */
function permissionLines(ask: PermissionPrompt, look: PermissionLook): RenderLines {
  const { theme } = look;
  const change = parseTextChange(ask.tool, ask.input);
  const main = change === undefined ? callLines(ask, look) : fileChangeLines(ask, { change, look });
  return stackLines([...main, () => [""], textLines(shortPaths(ask.reason, look.cwd), { theme, paint: theme.dim })]);
}

type PermissionLook = Pick<DialogDeps, "theme" | "cwd">;

/** The file that is written may differ from the path in the call, if that is a link; then it is listed too. */
function fileChangeLines(
  { acts, input }: PermissionPrompt,
  { change, look }: { readonly change: TextChange; readonly look: PermissionLook },
): readonly RenderLines[] {
  const { theme, cwd } = look;
  const others = acts.filter((act) => act.kind !== "write" || act.path !== resolve(cwd, change.path));
  const scope = input["replace_all"] === true ? [textLines("  wherever it occurs in the file", { theme })] : [];
  return [
    exactLines(shortPath(change.path, cwd), { theme, first: "  ", paint: theme.strong }),
    ...scope,
    ...actionListLines(others, look),
    changeLines(change, theme),
  ];
}

function callLines({ tool, input, acts }: PermissionPrompt, look: PermissionLook): readonly RenderLines[] {
  const { theme } = look;
  const shells = acts.filter((act) => act.kind === "shell");
  const others = acts.filter((act) => act.kind !== "shell");
  const isExplained = acts.length > 0 && acts.every(({ kind }) => kind !== "mcp" && kind !== "state");
  const hosts = hostsToConnect({ tool, acts });
  if (hosts !== undefined)
    return [commandLine(textOf(input, "command") ?? "", look), ...hosts.map((host) => hostLine(host, look))];
  const called = parseServerCall(tool, input);
  if (called !== undefined)
    return [exactLines(formatInput(called.input), { theme, first: "  " }), ...actionListLines(acts, look)];
  const inputLines = isExplained ? [] : [exactLines(formatInput(input), { theme, first: "  " })];
  return [
    ...shells.map(({ command }) => commandLine(command, look)),
    ...shells.flatMap((act) => sandboxLines(act, look)),
    ...(isInBackground(tool, input) ? [textLines(`  ${backgroundText}`, { theme, paint: theme.warning })] : []),
    ...actionListLines(others, look),
    ...(acts.length === 0 ? [textLines(`  ${singleLine(tool)}, with`, { theme })] : []),
    ...inputLines,
  ];
}

/** What confines the command; for one outside the sandbox also the reason that the model gives. */
function sandboxLines(act: ShellAction, { theme }: PermissionLook): readonly RenderLines[] {
  const description = describeSandbox(act);
  if (description === "") return [];
  const paint = act.outsideReason !== undefined || act.strength === "none" ? theme.warning : theme.dim;
  return [
    textLines(`  ${description}`, { theme, paint }),
    ...(act.outsideReason === undefined
      ? []
      : [exactLines(act.outsideReason, { theme, first: "  the agent's reason: ", paint: theme.warning })]),
  ];
}

const commandLine = (command: string, { theme }: PermissionLook): RenderLines =>
  exactLines(command, { theme, first: "  $ ", paint: theme.code });
const hostLine = (host: string, { theme }: PermissionLook): RenderLines =>
  exactLines(host, { theme, first: "  connects to ", paint: theme.strong });

/** A short input in one line, without quotes around its keys: `{a: 2, b: 3}`. */
function formatInput(input: Json): string {
  const pretty = JSON.stringify(input, undefined, 2);
  if (pretty.length > shortInputCharsMax) return pretty;
  return pretty
    .replaceAll(/^ *"([A-Za-z_$][\w$]*)": /gm, "$1: ")
    .replaceAll(/([{[])\n *|\n *([}\]])/g, "$1$2")
    .replaceAll(/,\n */g, ", ");
}

/** A command may name thousands of files: the first ones are listed, the rest is counted. */
function actionListLines(acts: readonly ToolAction[], look: PermissionLook): readonly RenderLines[] {
  const { theme } = look;
  const more = acts.length - actionsShownMax;
  return [
    ...acts.slice(0, actionsShownMax).map((act) => actionLines(act, look)),
    ...(more > 0
      ? [textLines(`! and ${formatCount(more)} ${plural(more, "other")}`, { theme, paint: theme.warning })]
      : []),
  ];
}

const actionsShownMax = 200;

function actionLines(act: ToolAction, { theme, cwd }: PermissionLook): RenderLines {
  const line = (word: string, text: string): RenderLines => exactLines(text, { theme, first: `  ${word} ` });
  switch (act.kind) {
    case "read":
      return line("reads", shortPath(act.path, cwd));
    case "write":
      return line(act.byShell?.reach === "below" ? "changes all in" : "changes", shortPath(act.path, cwd));
    case "shell":
      return line("runs", act.command);
    case "fetch":
      return stackLines([line("asks", act.url), line("of", act.host)]);
    case "mcp":
      return line("calls", `${act.tool} of the server ${act.server}`);
    case "state":
      return line("changes", act.what);
  }
}

/** The whole change, because the user decides about it. */
function changeLines(change: TextChange, theme: Theme): RenderLines {
  const [before, after] = [cutText(change.before ?? ""), cutText(change.after)];
  const shown: TextChange = {
    ...change,
    before: change.before === undefined ? undefined : before.text,
    after: after.text,
  };
  const hiddenChars = before.hiddenChars + after.hiddenChars;
  const counts = `  ${formatChangeCounts(shown)} ${change.before === undefined ? "lines, the whole file" : "lines"}`;
  const note = `! ${formatCount(hiddenChars)} characters more are not shown`;
  return stackLines([
    textLines(counts, { theme, paint: theme.dim }),
    (width) => drawChange(shown, { width, theme, indent: "  " }),
    ...(hiddenChars > 0 ? [textLines(note, { theme, paint: theme.warning })] : []),
  ]);
}

function cutText(text: string): { readonly text: string; readonly hiddenChars: number } {
  const end = text.length <= dialogBodyCharsMax ? text.length : safeCutIndex(text, dialogBodyCharsMax);
  return { text: toPrintable(text.slice(0, end).replaceAll("\r\n", "\n")), hiddenChars: text.length - end };
}
