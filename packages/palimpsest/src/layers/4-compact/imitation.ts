import { fencedLines } from "./fences.ts";

/**
 * A summary stands in the user's turn, inside a tag of ours. Text in it must not look like the end of that tag, like a
 * tag whose content models take for the engine's, or like the beginning of another turn. Each form gets a sign that
 * takes it out of the form and leaves it readable; a second pass finds nothing.
 */
export const withoutImitations = (text: string): string => without(turns, without(tagForms, text));

/** The same, but code in closed fences keeps its lines: `system: linux` opens no turn there. Tags go everywhere. */
export function proseWithoutImitations(text: string): string {
  const lines = text.split("\n");
  const fenced = fencedLines(lines);
  const prose = lines.map((line, at) => (fenced.has(at) ? line : without(turns, line)));
  return without(tagForms, prose.join("\n"));
}

const without = (forms: readonly Form[], text: string): string =>
  forms.reduce((said, { form, instead }) => said.replaceAll(form, instead), text);

interface Form {
  readonly form: RegExp;
  readonly instead: string;
}

/** Tags that clients of the ecosystem put into user turns, and those around calls. */
const tags = [
  "system-reminder",
  "system",
  "persisted-output",
  String.raw`user-messages?(?:-\d+)?`,
  "task-notification",
  "command-[a-z-]+",
  "local-command-[a-z-]+",
  "bash-[a-z-]+",
  "user-prompt-submit-hook",
  "user-memory-input",
  "function_calls",
  "function_results",
  "antml:[a-z_]+",
  "invoke",
  "tool_use",
  "tool_result",
].join("|");

const roles = "(?:user|human|assistant)";

const tagForms: readonly Form[] = [
  // <system-reminder>, </system-reminder>, also with attributes
  { form: new RegExp(String.raw`<(?=\s{0,3}\/?\s{0,3}(?:${tags})(?:[\s/][^<>]*)?(?:>|$))`, "gi"), instead: "<\\" },
  // <|im_start|>, <|system|>
  { form: /<(?=\|[\w-]+\|>)/g, instead: "<\\" },
  // [INST], <<SYS>>
  { form: /\[(?=\/?INST\])/g, instead: "[\\" },
  { form: /<(?=<\/?SYS>>)/g, instead: "<\\" },
];

const turns: readonly Form[] = [
  // <user>…</user>; a lone <user> in a line is a name to be filled in.
  { form: new RegExp(String.raw`^([^\S\n]*)<(?=${roles}>)`, "gm"), instead: "$1<\\" },
  { form: new RegExp(String.raw`<(?=${roles}>[^\n]{0,300}<\/${roles}>)`, "g"), instead: "<\\" },
  { form: new RegExp(String.raw`<(?=\/${roles}>)`, "g"), instead: "<\\" },
  // A line that opens a turn. Those of the user are quotes, and looked at as such.
  { form: /^([^\S\n]*(?:\*\*)?(?:human|assistant|system|developer)(?:\*\*)?)[^\S\n]*:/gim, instead: "$1 –" },
  { form: /^([^\S\n]*)\[(system(?: (?:message|notice|prompt))?)\]/gim, instead: "$1($2)" },
];
