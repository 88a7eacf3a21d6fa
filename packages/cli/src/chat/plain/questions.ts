import type { Act } from "palimpsest/internal/ports/tools";
import type { PermissionAnswer, PermissionAsk, Question } from "palimpsest/internal/ports/person";
import type { PlanAnswer } from "palimpsest/internal/ports/planning";
import type { JsonObject } from "palimpsest/internal/schema/json";
import type { Choice, PreviewAnswer } from "../../tui/chat-ui.ts";
import {
  backgroundWords,
  callTitle,
  changeOf,
  connectingTo,
  isInBackground,
  serverCallOf,
  strengthWords,
} from "../../tui/text/call-words.ts";
import { oneLine } from "../../human.ts";
import { changeText, cutText } from "./change-text.ts";
import { choicesListedMax } from "./limits.ts";

/** Questions as text, and what a typed line answers. */
export function permissionText({ tool, input, acts, reason, suggestedRules }: PermissionAsk): string {
  const title = callTitle(tool, input);
  const hosts = connectingTo({ tool, acts });
  const touched = [...new Set(hosts?.map((host) => `connects to ${host}`) ?? acts.map(actText))].filter(
    (text) => text !== "" && text !== title,
  );
  const always =
    suggestedRules === undefined ? "" : `, a: yes, and from now on ${oneLine(suggestedRules.join(" and "))}`;
  return [
    `${tool} ${title}`,
    ...touched.map((text) => `  ${text}`),
    ...givenText(tool, input),
    ...(isInBackground(tool, input) ? [`  ${backgroundWords}`] : []),
    ...acts.flatMap(heldText),
    `  ${oneLine(reason)}`,
    `may it ${hosts === undefined ? "run" : "connect"}? y: yes, this once${always}, n: no; any other words are told to the model as your reason not to: `,
  ].join("\n");
}

/** What a file would hold, or what a tool of a server is given: the title says only where. */
function givenText(tool: string, input: JsonObject): readonly string[] {
  const change = changeOf(tool, input);
  if (change !== undefined) return changeText(change);
  const called = serverCallOf(tool, input);
  return called === undefined ? [] : [`  with ${cutText(JSON.stringify(called.input))}`];
}

/** What will hold a command, and where nothing is to hold it the reason that the model gives. */
function heldText(act: Act): readonly string[] {
  const held = act.kind === "shell" ? strengthWords(act) : "";
  if (act.kind !== "shell" || held === "") return [];
  const reason = act.outsideReason === undefined ? [] : [`  the agent's reason: ${oneLine(act.outsideReason)}`];
  return [`  ${held}`, ...reason];
}

function actText(act: Act): string {
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

/** Nothing but a plain yes allows anything. */
export function permissionAnswer(line: string, { suggestedRules }: PermissionAsk): PermissionAnswer {
  const said = line.trim();
  const word = said.toLowerCase();
  if (word === "y" || word === "yes") return { kind: "once" };
  if (word === "a" && suggestedRules !== undefined) return { kind: "always", rules: suggestedRules, scope: "session" };
  return word === "" || word === "n" || word === "no" ? { kind: "denied" } : { kind: "denied", words: said };
}

export function questionText({ question, options, choose }: Question): string {
  const how = choose === "many" ? "numbers with commas between, or your own words" : "a number, or your own words";
  return `${question}\n${listed(options)}\n(${how}; an empty line declines): `;
}

/** Numbers of options count as these; anything else is an answer of the person's own. */
export function questionAnswer(line: string, { options, choose }: Question): readonly string[] {
  const said = line.trim();
  const parts = choose === "many" ? said.split(",").map((part) => part.trim()) : [said];
  const chosen = parts.map((part) => (/^\d+$/.test(part) ? options[Number(part) - 1]?.label : undefined));
  return chosen.every((label) => label !== undefined) ? chosen : [said];
}

/** The letters of the plan's dialog; a plain terminal has no editor for it. */
export const planText = (plan: string): string =>
  `${plan}\n\nis this the plan? y: yes, ask before each edit, a: yes, edits without asking, n: keep planning; any other words are told to the model, and it plans on: `;

export function planAnswer(line: string): PlanAnswer {
  const said = line.trim();
  switch (said.toLowerCase()) {
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
      return { kind: "refused", words: said };
  }
}

export function choiceText(title: string, choices: readonly Choice[]): string {
  const more = choices.length - choicesListedMax;
  const rest = more <= 0 ? "" : `\n  and ${more} more: name one`;
  return `${title}\n${listed(choices.slice(0, choicesListedMax))}${rest}\n(a number or a name; an empty line for none): `;
}

export function choiceAnswer(line: string, choices: readonly Choice[]): string | undefined {
  const said = line.trim();
  const numbered = /^\d+$/.test(said) ? choices[Number(said) - 1] : undefined;
  return (choices.find(({ value, label }) => value === said || label === said) ?? numbered)?.value;
}

export function previewAnswer(line: string): PreviewAnswer {
  const word = line.trim().toLowerCase();
  if (word === "y" || word === "yes") return "commit";
  return word === "e" ? "edit" : "cancel";
}

const listed = (options: readonly { readonly label: string; readonly description?: string }[]): string =>
  options
    .map(({ label, description }, at) => `  ${at + 1}  ${label}${description === undefined ? "" : `: ${description}`}`)
    .join("\n");
