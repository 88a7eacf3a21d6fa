import { command } from "../../program/command.ts";
import { usageError } from "../../program/failure.ts";
import { chooseModel, modelOption, modelOptions, settingOptions } from "../../program/setting-options.ts";
import { serveTeammate } from "../../session/serve-teammate.ts";
import { parseToolRequest, permissionOptions } from "../agent-command.ts";

export const serveCommand = command({
  name: "serve",
  summary: "be a teammate that works on what it is sent, without a chat",
  options: {
    team: { type: "string", shown: "team", summary: "the team, which its leader has started" },
    name: { type: "string", shown: "name", summary: "what the others call it" },
    ...modelOptions,
    ...permissionOptions,
    ...settingOptions,
    ...modelOption,
  },
  details: [
    "Waits for messages of the team; each starts a turn, after which the leader is told that it is idle. Ends when the leader asks it to, or is gone. A leader's tool `team` starts it like this.",
    "You are not asked: calls that need your approval are denied. One that a leader has started can do at most what the leader could.",
    "Started again, it goes on with its conversation and its mailbox.",
  ],
  run: async (context, { options }) => {
    const { team, name } = options;
    if (team === undefined || name === undefined)
      return usageError("a teammate needs a team and a name", "palimpsest agents serve --team docs --name reviewer");
    const request = await parseToolRequest(context, options);
    if ("code" in request) return request;
    const model = await chooseModel(context, options);
    if ("code" in model) return model;
    return serveTeammate(context, { ...request, model, team, name });
  },
});
