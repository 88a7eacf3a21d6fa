import type { ChatCommandContext } from "../chat-command.ts";
import type { Failure } from "../../failure.ts";

type Telling = Pick<ChatCommandContext, "act">;

export const tell = ({ act }: Telling, text: string): void => act({ kind: "tell", tone: "plain", text });

export const warn = ({ act }: Telling, text: string): void => act({ kind: "tell", tone: "warning", text });

/** What went wrong, and in a second sentence what to do about it here. */
export const refuse = (telling: Telling, { message, hint }: Pick<Failure, "message" | "hint">): void =>
  warn(telling, `${sentence(message)}${hint === undefined ? "" : ` ${hint}`}`);

/** The machine refused to write: what was said before stays. */
export const unwritten = ({ act }: Telling, { message }: { readonly message: string }): void =>
  act({ kind: "tell", tone: "error", text: `It could not be written: ${message}` });

/** Begins with a capital, unless it begins with a name: that of a file or an entry has its own letters. */
const sentence = (message: string): string => {
  const text = message.trim();
  const first = /^[a-z]+[\s,:]/.test(text) ? text.slice(0, 1).toUpperCase() : text.slice(0, 1);
  return `${first}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
};
