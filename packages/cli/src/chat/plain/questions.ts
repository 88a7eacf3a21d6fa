import type { ToolAction } from "palimpsest/internal/ports/tool";
import type { PermissionAnswer, PermissionPrompt, Question } from "palimpsest/internal/ports/user-port";
import type { PlanAnswer } from "palimpsest/internal/ports/plan-mode";
import type { JsonObject } from "palimpsest/internal/schema/json";
import type { Choice, PreviewAnswer } from "../../tui/chat-ui.ts";
import {
  backgroundText,
  callTitle,
  parseTextChange,
  hostsToConnect,
  isInBackground,
  parseServerCall,
  describeSandbox,
  type TextChange,
} from "../../tui/text/call-title.ts";
import { joinLines } from "../../text/format.ts";
import { choicesListedMax, changeLineCharsMax, changeLinesMax } from "../limits.ts";
import { formatCount, plural } from "palimpsest/internal/text/format-count";
import { safeCutIndex } from "palimpsest/internal/text/safe-cut-index";
import { type DiffLine, diffTexts } from "palimpsest/internal/text/diff-texts";

/** Questions as text, and the meaning of a typed answer. */
export function permissionText({ tool, input, acts, reason, suggestedRules, ruleScope }: PermissionPrompt): string {
  const title = callTitle(tool, input);
  const hosts = hostsToConnect({ tool, acts });
  const touched = [...new Set(hosts?.map((host) => `connects to ${host}`) ?? acts.map(actText))].filter(
    (text) => text !== "" && text !== title,
  );
  const whose = ruleScope === "agent" ? " for this agent" : "";
  const always =
    suggestedRules === undefined ? "" : `, a: yes, and from now on ${joinLines(suggestedRules.join(" and "))}${whose}`;
  return [
    `${tool} ${title}`,
    ...touched.map((text) => `  ${text}`),
    ...callInputText(tool, input),
    ...(isInBackground(tool, input) ? [`  ${backgroundText}`] : []),
    ...acts.flatMap(sandboxText),
    `  ${joinLines(reason)}`,
    `may it ${hosts === undefined ? "run" : "connect"}? y: yes, this once${always}, n: no; any other words are told to the model as your reason not to: `,
  ].join("\n");
}

/** The new content of a file, or the input of a server's tool: the title only says where. */
function callInputText(tool: string, input: JsonObject): readonly string[] {
  const change = parseTextChange(tool, input);
  if (change !== undefined) return diffText(change);
  const called = parseServerCall(tool, input);
  return called === undefined ? [] : [`  with ${cutText(JSON.stringify(called.input))}`];
}

/** The sandbox of a command, or if there is to be none, the model's reason. */
function sandboxText(act: ToolAction): readonly string[] {
  const sandbox = act.kind === "shell" ? describeSandbox(act) : "";
  if (act.kind !== "shell" || sandbox === "") return [];
  const reason = act.outsideReason === undefined ? [] : [`  the agent's reason: ${joinLines(act.outsideReason)}`];
  return [`  ${sandbox}`, ...reason];
}

function actText(act: ToolAction): string {
  switch (act.kind) {
    case "read":
      return `reads ${act.path}`;
    case "write":
      return `writes ${act.path}`;
    case "shell":
      return act.command;
    case "fetch":
      return `fetches ${act.url}`;
    case "mcp":
      return `calls ${act.tool} of the server ${act.server}`;
    case "state":
      return act.what;
  }
}

/** Only a plain yes allows anything. */
export function permissionAnswer(line: string, { suggestedRules }: PermissionPrompt): PermissionAnswer {
  const answer = line.trim();
  const word = answer.toLowerCase();
  if (word === "y" || word === "yes") return { kind: "once" };
  if (word === "a" && suggestedRules !== undefined) return { kind: "always", rules: suggestedRules, scope: "session" };
  return word === "" || word === "n" || word === "no" ? { kind: "denied" } : { kind: "denied", words: answer };
}

export function questionText({ question, options, choose }: Question): string {
  const how = choose === "many" ? "numbers with commas between, or your own words" : "a number, or your own words";
  return `${question}\n${listWithNumbers(options)}\n(${how}; an empty line declines): `;
}

/** Numbers select options; anything else is the user's own answer. */
export function questionAnswer(line: string, { options, choose }: Question): readonly string[] {
  const answer = line.trim();
  const parts = choose === "many" ? answer.split(",").map((part) => part.trim()) : [answer];
  const chosen = parts.map((part) => (/^\d+$/.test(part) ? options[Number(part) - 1]?.label : undefined));
  return chosen.every((label) => label !== undefined) ? chosen : [answer];
}

/** The letters of the plan dialog; a plain terminal has no editor for the plan. */
export const planText = (plan: string): string =>
  `${plan}\n\nis this the plan? y: yes, ask before each edit, a: yes, edits without asking, n: keep planning; any other words are told to the model, and it plans on: `;

export function planAnswer(line: string): PlanAnswer {
  const answer = line.trim();
  switch (answer.toLowerCase()) {
    case "y":
    case "yes":
      return { kind: "accepted", mode: "default" };
    case "a":
      return { kind: "accepted", mode: "acceptEdits" };
    case "":
    case "n":
    case "no":
      return { kind: "refused" };
    default:
      return { kind: "refused", words: answer };
  }
}

export function choiceText(title: string, choices: readonly Choice[]): string {
  const more = choices.length - choicesListedMax;
  const rest = more <= 0 ? "" : `\n  and ${more} more: name one`;
  return `${title}\n${listWithNumbers(choices.slice(0, choicesListedMax))}${rest}\n(a number or a name; an empty line for none): `;
}

export function choiceAnswer(line: string, choices: readonly Choice[]): string | undefined {
  const answer = line.trim();
  const numbered = /^\d+$/.test(answer) ? choices[Number(answer) - 1] : undefined;
  return (choices.find(({ value, label }) => value === answer || label === answer) ?? numbered)?.value;
}

export function previewAnswer(line: string): PreviewAnswer {
  const word = line.trim().toLowerCase();
  if (word === "y" || word === "yes") return "commit";
  return word === "e" ? "edit" : "cancel";
}

const listWithNumbers = (options: readonly { readonly label: string; readonly description?: string }[]): string =>
  options
    .map(({ label, description }, at) => `  ${at + 1}  ${label}${description === undefined ? "" : `: ${description}`}`)
    .join("\n");

/**
 * What would be written, line by line, cut at a limit. The omitted lines are counted, since they are decided about too.
 */
function diffText({ before, after }: TextChange): readonly string[] {
  const { hunks } = diffTexts({ before: before ?? "", after });
  const lines = hunks.flatMap((hunk, index) => [...(index === 0 ? [] : ["    ⋮"]), ...hunk.map(diffLineText)]);
  const more = lines.length - changeLinesMax;
  return [
    ...lines.slice(0, changeLinesMax),
    ...(more > 0
      ? [`  ! ${formatCount(more)} more ${plural(more, "line")} of it ${more === 1 ? "is" : "are"} not shown`]
      : []),
  ];
}

const diffLineText = ({ kind, text }: DiffLine): string => `  ${signByKind[kind]} ${cutText(text)}`;

const signByKind: Readonly<Record<DiffLine["kind"], string>> = { same: " ", removed: "-", added: "+" };

/** The omitted part is counted. */
function cutText(text: string): string {
  if (text.length <= changeLineCharsMax) return text;
  const end = safeCutIndex(text, changeLineCharsMax);
  const more = text.length - end;
  return `${text.slice(0, end)}… (${formatCount(more)} more ${plural(more, "character")})`;
}
