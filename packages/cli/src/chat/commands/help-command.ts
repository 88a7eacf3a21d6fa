import { type SlashCommand, slashCommands, slashUsage } from "../../tui/slash/slash-commands.ts";
import { findSlashCommand } from "../../tui/slash/parse-slash.ts";
import { wrapText } from "../../text/format.ts";
import type { Style } from "../../text/style.ts";
import { type ChatCommand, stay } from "../chat-command.ts";
import { print, refuse } from "./chat-lines.ts";

/** Help for everything that can be typed, or for one command. */
export const helpCommand: ChatCommand = async ({ rest }, chat) => {
  const { columns } = chat.ui;
  const word = rest.replace(/^\//, "");
  const command = word === "" ? undefined : findSlashCommand(word);
  if (word !== "" && command === undefined)
    refuse(chat, { message: `there is no command /${word}`, hint: "/help lists them." });
  else
    print(chat, (style) =>
      command === undefined ? overviewText({ style, columns }) : commandText(command, { style, columns }),
    );
  return stay;
};

interface HelpLook {
  readonly style: Style;
  readonly columns: number;
}

type HelpRow = readonly [typed: string, about: string];

/** docs/chat.md lists them too. */
export const helpKeys: readonly HelpRow[] = [
  ["Enter", "sends the message; while the agent works, it waits for the next round"],
  ["Shift-Enter, Alt-Enter, Ctrl-J", "insert a new line; so does \\ before Enter"],
  ["Esc", "stops the agent or command; press twice to clear the input"],
  ["Up", "edits a message that is still waiting, then earlier messages"],
  ["Tab", "completes a command, its argument, or a file name after @"],
  ["Shift-Tab", "switches to the next permission mode"],
  ["Ctrl-R", "takes back the memories that were just saved"],
  ["Ctrl-O", "shows the whole conversation, to expand and search"],
  ["Ctrl-C", "clears the input; press twice to quit"],
  ["Ctrl-D", "quits if the input is empty"],
];

function overviewText(look: HelpLook): string {
  const commands = slashCommands.map((command): HelpRow => [slashUsage(command), command.summary]);
  const { style } = look;
  return [
    style("bold", "commands"),
    rowsText(commands, look),
    style("bold", "keys"),
    rowsText(helpKeys, look),
    wrapText("A space before a slash sends it as a message.", look.columns),
  ].join("\n");
}

/** Two columns if there is room for both, else one below the other. */
function rowsText(rows: readonly HelpRow[], { columns }: HelpLook): string {
  const width = Math.max(...rows.map(([typed]) => typed.length)) + 2;
  const room = columns - width - 2;
  const lines = rows.map(([typed, about]) =>
    room >= aboutColumnsMin
      ? `  ${typed.padEnd(width)}${indent(wrapText(about, room), width + 2)}`
      : `  ${typed}\n    ${indent(wrapText(about, columns - 4), 4)}`,
  );
  return `${lines.join("\n")}\n`;
}

const indent = (text: string, by: number): string => text.replaceAll("\n", `\n${" ".repeat(by)}`);

/** A narrower column would hold single words. */
const aboutColumnsMin = 24;

function commandText(command: SlashCommand, { style, columns }: HelpLook): string {
  const { summary, aliases } = command;
  const also = aliases.length === 0 ? [] : [`also ${aliases.map((alias) => `/${alias}`).join(", ")}`];
  return [
    style("bold", slashUsage(command)),
    ...[summary, ...also].map((line) => `  ${indent(wrapText(line, columns - 2), 2)}`),
  ].join("\n");
}
