import { openWorkspace } from "../../host/workspace.ts";
import { flagValues } from "../../settings/flag-values.ts";
import { findModel, tokenizerRatio } from "palimpsest/internal/tokens/known-models";
import { simulatorName } from "../../program/setting-options.ts";
import { formatNumber } from "../../text/format.ts";
import { problemWithHint } from "../../program/report-problems.ts";
import { type ChatCommandContext, type ChatCommand, stay } from "../chat-command.ts";
import { modelChoices } from "./message-choices.ts";
import { refuse, tell } from "./chat-lines.ts";

/** The session continues with another model. Any name is accepted: a provider may know more models than we do. */
export const modelCommand: ChatCommand = async ({ rest }, chat) => {
  const { agent } = chat;
  const name = rest === "" ? await pickModelName(chat) : rest;
  if (name === undefined) return stay;
  if (name === agent.model) {
    tell(chat, `${name} answers already.`);
    return stay;
  }
  if (name === simulatorName) {
    const hint = "It has no key and no memory of a provider: start with palimpsest --model simulator.";
    refuse(chat, { message: "a chat can't change to the simulator", hint });
    return stay;
  }
  const flags = [{ flag: "model", text: name }];
  const [problem] = flagValues(flags).problems;
  if (problem !== undefined) {
    refuse(chat, { message: problemWithHint(problem) });
    return stay;
  }
  await tellCacheCost(chat, name);
  return { kind: "open", session: { kind: "resume", id: agent.session.id }, flags };
};

async function pickModelName(chat: ChatCommandContext): Promise<string | undefined> {
  const { ui, agent, signal } = chat;
  const choices = modelChoices(await readModelOverrides(chat)).map((choice) =>
    choice.value === agent.model ? { ...choice, label: `${choice.label} (answers now)` } : choice,
  );
  const title = "Which model answers? /model <name> takes any other.";
  const chosen = await ui.choose({ title, choices, search: "typed", at: agent.model }, signal);
  return signal.aborted ? undefined : chosen;
}

const readModelOverrides = async ({ context }: ChatCommandContext) =>
  (await openWorkspace(context).settings()).reading.settings.models.value;

/** Another model has a cache of its own. */
async function tellCacheCost(chat: ChatCommandContext, name: string): Promise<void> {
  const { model, session } = chat.agent;
  const size = Math.round(session.ledger.size.tokens * tokenizerRatio(model, name));
  const isKnown = findModel(name, await readModelOverrides(chat)) !== undefined;
  const unknown = isKnown ? "" : " It is not known here: its window is assumed, and its price is not counted.";
  tell(chat, `${name}: the next request writes about ${formatNumber(size)} tokens to its cache.${unknown}`);
}
