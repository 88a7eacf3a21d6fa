import { presetNames, getPreset, resolvePolicy } from "palimpsest/internal/policy/policy-catalogue";
import { savingLevels } from "palimpsest/internal/schema/policy-names";
import type { Policy } from "palimpsest/internal/layers/policy";
import { nearestName } from "palimpsest/internal/text/nearest-name";
import type { Choice } from "../../tui/chat-ui.ts";
import type { FlagInput } from "../../settings/flag-values.ts";
import { type ChatCommand, stay } from "../chat-command.ts";
import { refuse, tell } from "./chat-lines.ts";

/** The settings of our own policy's dial, then the presets of other systems, with what each does. */
export const policyChoices = (): readonly Choice[] => [
  ...savingLevels.map((name) => ({ value: name, label: name, description: resolvePolicy("palimpsest", name).about })),
  ...presetNames
    .filter((name) => name !== "palimpsest")
    .map((name) => ({ value: name, label: name, description: getPreset(name).about })),
];

const choiceInForce = (policy: Policy): string =>
  savingLevels.find((name) => resolvePolicy("palimpsest", name).name === policy.name) ?? policy.name;

const flagsFor = (choice: string): readonly FlagInput[] =>
  savingLevels.some((name) => name === choice)
    ? [
        { flag: "policy", text: "palimpsest" },
        { flag: "saving", text: choice },
      ]
    : [{ flag: "policy", text: choice }];

/** The session continues under another policy. */
export const policyCommand: ChatCommand = async ({ rest }, chat) => {
  const { agent, ui, signal } = chat;
  const current = choiceInForce(agent.settings().policy);
  const choices = policyChoices().map((choice) =>
    choice.value === current ? { ...choice, label: `${choice.label} (in force)` } : choice,
  );
  const title = `Which policy? ${current} is in force`;
  const typed = rest === "palimpsest" ? "balanced" : rest;
  const name = typed === "" ? await ui.choose({ title, choices, search: "typed", at: current }, signal) : typed;
  if (name === undefined || signal.aborted) return stay;
  const names = choices.map(({ value }) => value);
  if (!names.includes(name)) {
    const near = nearestName(name, names);
    const hint = near === undefined ? `There are ${names.join(", ")}.` : `Did you mean ${near}?`;
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
    flags: flagsFor(name),
  };
};
