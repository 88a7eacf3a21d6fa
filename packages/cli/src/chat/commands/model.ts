import { createEngine } from "../../host/engine.ts";
import { flagValues } from "../../settings/flags.ts";
import { findModel } from "palimpsest/internal/tokens/registry";
import { tokenizerRatio } from "palimpsest/internal/tokens/tokenizer";
import { simulatorName } from "../../asked-settings.ts";
import { humanCount } from "../../human.ts";
import { said } from "../../settings-problems.ts";
import type { ChatCommandContext } from "../chat-command.ts";
import { type ChatCommand, stay } from "./command.ts";
import { modelChoices } from "./model-choices.ts";
import { refuse, tell } from "./notices.ts";

/** The same session goes on with another model. Any name is taken: a provider may know more models than we do. */
export const modelCommand: ChatCommand = async ({ rest }, chat) => {
  const { agent } = chat;
  const name = rest === "" ? await picked(chat) : rest;
  if (name === undefined) return stay;
  if (name === agent.model) {
    tell(chat, `${name} answers already.`);
    return stay;
  }
  if (name === simulatorName) {
    const hint = "It has no key and no memory of a provider: start with palimpsest --model simulator.";
    refuse(chat, { message: "the simulator is no model that a chat changes to", hint });
    return stay;
  }
  const flags = [{ flag: "model", text: name }];
  const [problem] = flagValues(flags).problems;
  if (problem !== undefined) {
    refuse(chat, { message: said(problem) });
    return stay;
  }
  await foretell(chat, name);
  return { kind: "open", session: { kind: "resume", id: agent.session.id }, flags };
};

async function picked(chat: ChatCommandContext): Promise<string | undefined> {
  const { ui, agent, signal } = chat;
  const choices = modelChoices(await overridesIn(chat)).map((choice) =>
    choice.value === agent.model ? { ...choice, label: `${choice.label} (answers now)` } : choice,
  );
  const title = "Which model answers? /model <name> takes any other.";
  const chosen = await ui.choose({ title, choices, search: "typed", at: agent.model }, signal);
  return signal.aborted ? undefined : chosen;
}

const overridesIn = async ({ context }: ChatCommandContext) =>
  (await createEngine(context).settings()).reading.settings.models.value;

/** Another model has a cache of its own. */
async function foretell(chat: ChatCommandContext, name: string): Promise<void> {
  const { model, session } = chat.agent;
  const size = Math.round(session.ledger.size.tokens * tokenizerRatio(model, name));
  const isKnown = findModel(name, await overridesIn(chat)) !== undefined;
  const unknown = isKnown ? "" : " It is not known here: its window is assumed, and its price is not reckoned.";
  tell(chat, `${name}: the next request writes about ${humanCount(size)} tokens to its cache.${unknown}`);
}
