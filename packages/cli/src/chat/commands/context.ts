import { contextText } from "../../context-text.ts";
import { print } from "./lines.ts";
import { type ChatCommand, stay } from "./command.ts";

/** What fills the window now, as the next request will have it. */
export const contextCommand: ChatCommand = async (_slashed, chat) => {
  const { agent, ui } = chat;
  const { window } = agent.numbers();
  const report = agent.view.report();
  const look = { columns: ui.columns, model: agent.model, windowSource: window.source, windowFrom: window.from };
  print(chat, (style) => contextText(report, { style, ...look }));
  return stay;
};
