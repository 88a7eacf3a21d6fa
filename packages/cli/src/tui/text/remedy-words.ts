import type { Remedies, Remedy } from "palimpsest/internal/schema/remedy";

/** Where it is read: what is typed differs. */
export type Place = "chat" | "shell";

/** `Try this: /compact makes room; /rewind goes back to an earlier message.` */
export const remedyLine = (remedies: Remedies, place: Place): string =>
  `Try this: ${remedies.map((remedy) => wordsByRemedy[remedy][place]).join("; ")}.`;

const alike = (words: string): Readonly<Record<Place, string>> => ({ chat: words, shell: words });

const wordsByRemedy: Readonly<Record<Remedy, Readonly<Record<Place, string>>>> = {
  compact: {
    chat: "/compact makes room",
    shell: "`palimpsest compact` makes room",
  },
  rewind: {
    chat: "/rewind goes back to before an earlier message",
    shell: "/rewind in the chat (`palimpsest --continue`) goes back to before an earlier message",
  },
  "other-model": {
    chat: "/model takes another model",
    shell: "--model takes another model",
  },
  "smaller-window": alike("--context-tokens tells the window, if it is smaller than assumed"),
  "new-session": {
    chat: "/new begins a new session, and this one stays",
    shell: "a new session begins without --continue and --resume, and this one stays",
  },
  "open-again": {
    chat: "end the other process, then /resume opens the session again",
    shell: "end the other process, then --continue goes on with the session",
  },
  "say-again": alike("send the message again"),
  "say-less": alike("send it in smaller parts"),
  "go-on": {
    chat: "say “go on”",
    shell: 'go on with `palimpsest --continue -p "go on"`',
  },
  wait: alike("wait a while, then send the message again"),
  "check-key": alike(
    "check the key (ANTHROPIC_API_KEY, OPENAI_API_KEY) and what it may use; `palimpsest doctor` shows which is read",
  ),
  "check-account": alike("check the credit and the limits of your account with the provider"),
  "check-address": alike("check the address (--base-url, ANTHROPIC_BASE_URL, OPENAI_BASE_URL)"),
  "check-network": alike("check the connection, and a proxy in between"),
  "check-disk": alike("check that the disk has room and may be written"),
  "check-hooks": {
    chat: "/hooks shows the hooks in force; change the message, or the hook",
    shell: "change the message, or the hook in your settings",
  },
  "check-tools": alike("check the tool that the message names; an MCP server that brings it can be switched off"),
  "check-settings": alike("check the setting that the message names; `palimpsest explain` shows what is in force"),
};
