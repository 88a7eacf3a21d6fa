import { openWorkspace } from "../../host/workspace.ts";
import type { HookSetting } from "palimpsest/internal/schema/hook";
import { joinLines } from "../../text/format.ts";
import type { Style } from "../../text/style.ts";
import { print, tell } from "./chat-lines.ts";
import { type ChatCommand, stay } from "../chat-command.ts";

/** The current hooks, with the file of each. */
export const hooksCommand: ChatCommand = async (_slashed, chat) => {
  const { hooks } = chat.agent;
  if (hooks.length === 0)
    tell(chat, "There are no hooks. They are set under `hooks` in a settings.json: see docs/hooks.md.");
  else print(chat, (style) => hooks.map((hook) => hookText(hook, style)).join("\n"));
  const { reading } = await openWorkspace(chat.context).settings();
  if (JSON.stringify(reading.settings.hooks.value) !== JSON.stringify(hooks))
    tell(chat, "The hooks in your settings have changed: the new ones count from the next session on.");
  return stay;
};

function hookText({ event, matcher, command, timeoutSeconds, from }: HookSetting, style: Style): string {
  const when = matcher === "" ? event : `${event} (${matcher})`;
  const limit = timeoutSeconds === undefined ? "" : `, at most ${timeoutSeconds} s`;
  return `${style("bold", joinLines(when))}  ${joinLines(command)}\n  ${style("dim", `${joinLines(from)}${limit}`)}`;
}
