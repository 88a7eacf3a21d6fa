import { compactPart } from "./compact-part.ts";
import { type ChatCommand, stay } from "./command.ts";

export const compactCommand: ChatCommand = async ({ rest, flags }, chat) => {
  const instructions = rest === "" ? undefined : rest;
  const decision = flags.includes("--yes") ? "commit" : "ask";
  await compactPart(chat, { part: { kind: "all" }, instructions, decision });
  return stay;
};
