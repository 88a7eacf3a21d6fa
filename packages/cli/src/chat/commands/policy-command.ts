import { presetNames, getPreset } from "palimpsest/internal/policy/policy-catalogue";
import { nearestName } from "palimpsest/internal/text/nearest-name";
import type { Choice } from "../../tui/chat-ui.ts";
import { type ChatCommand, stay } from "../chat-command.ts";
import { refuse, tell } from "./chat-lines.ts";

/** The presets, with what each does. */
export const policyChoices = (): readonly Choice[] =>
  presetNames.map((name) => ({ value: name, label: name, description: getPreset(name).about }));

/** The session continues under another policy. */
export const policyCommand: ChatCommand = async ({ rest }, chat) => {
  const { agent, ui, signal } = chat;
  const current = agent.settings().policy.name;
  const choices = policyChoices().map((choice) =>
    choice.value === current ? { ...choice, label: `${choice.label} (in force)` } : choice,
  );
  const title = `Which policy? ${current} is in force`;
  const name = rest === "" ? await ui.choose({ title, choices, search: "typed", at: current }, signal) : rest;
  if (name === undefined || signal.aborted) return stay;
  if (!presetNames.some((preset) => preset === name)) {
    const near = nearestName(name, presetNames);
    const hint = near === undefined ? `There are ${presetNames.join(", ")}.` : `Did you mean ${near}?`;
    refuse(chat, { message: `no policy is called ${name}`, hint });
    return stay;
  }
  if (name === current) {
    tell(chat, `${name} is in force already.`);
    return stay;
  }
  return {
    kind: "open",
    session: { kind: "resume", id: agent.session.id },
    flags: [{ flag: "policy", text: name }],
  };
};
