import { listAgentSessions } from "../../host/session-owner.ts";
import { openWorkspace } from "../../host/workspace.ts";
import { sessionId } from "palimpsest/internal/schema/brand";
import { type ChatCommandContext, type ChatCommand, stay } from "../chat-command.ts";
import { refuse, tell } from "./chat-lines.ts";
import { sessionChoices } from "./message-choices.ts";

/** Continues with another session of the project; this one stays. */
export const resumeCommand: ChatCommand = async ({ rest }, chat) => {
  const id = rest === "" ? await pickSession(chat) : await findSession(chat, rest);
  return id === undefined ? stay : { kind: "open", session: { kind: "resume", id: sessionId(id) } };
};

async function pickSession(chat: ChatCommandContext): Promise<string | undefined> {
  const { ui, context, agent, signal } = chat;
  const sessions = await listAgentSessions(openWorkspace(context));
  const choices = sessionChoices({ sessions, current: agent.session.id, nowMillis: Date.now() });
  if (choices.length === 0) {
    tell(chat, "This project has no other session yet.");
    return undefined;
  }
  const chosen = await ui.choose({ title: "Which session?", choices, search: "typed", verb: "go on with it" }, signal);
  return signal.aborted ? undefined : chosen;
}

const listHint = "/resume without a name lists the project's sessions.";

async function findSession(chat: ChatCommandContext, name: string): Promise<string | undefined> {
  const { context, agent } = chat;
  const workspace = openWorkspace(context);
  const found = await workspace.resolveLog(name);
  if (found.kind === "foreign") await found.source.close();
  if (found.kind === "ambiguous") {
    const candidates = found.candidates.slice(0, 4).join(", ");
    refuse(chat, { message: `several sessions begin with ${name}`, hint: `Write more of the id: ${candidates}` });
  } else if (found.kind !== "ours") {
    refuse(chat, { message: `no session of ours is called ${name}`, hint: listHint });
  } else if (found.id === agent.session.id) tell(chat, "That is this session.");
  else {
    const owner = await workspace.findLogOwner(found);
    if (owner.kind === "here") return found.id;
    const hint = `Run palimpsest --resume ${found.id} in ${owner.root ?? "the folder of that project"}.`;
    refuse(chat, { message: `session ${found.id} belongs to ${owner.root ?? "another project"}`, hint });
  }
  return undefined;
}
