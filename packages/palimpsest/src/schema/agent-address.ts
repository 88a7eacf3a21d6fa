import { z } from "zod";
import { type MailboxAddress, mailboxAddress } from "./brand.ts";
import { agentNameCharsMax, teamNameCharsMax } from "./limits.ts";

/**
 * Where a mailbox is. As agents write it, and as it is kept:
 *
 *   reviewer            a teammate of the sender     reviewer@<team of the sender>
 *   reviewer@docs       an agent of any team         reviewer@docs
 *   *                   all teammates of the sender  one address each
 *   bridge:<session>    a session of the same home   bridge:<session>
 *   uds:<path>          a socket on this machine     uds:<path>
 *
 * The agents of a session are a team whose name is the session's id, so a session reaches its own agents by their names.
 */
export type AgentAddress =
  | { readonly kind: "teammate"; readonly name: string; readonly team: string }
  | { readonly kind: "session"; readonly session: string }
  | { readonly kind: "socket"; readonly path: string };

/** What a sender may write: an address, or one that only means something within its team. */
export type Receiver =
  | AgentAddress
  | { readonly kind: "name"; readonly name: string }
  | { readonly kind: "all" }
  | { readonly kind: "unreadable" };

/** Names become names of folders: they can't be hidden, lead elsewhere or look like another address. */
export const isAgentName = (text: string): boolean => text.length <= agentNameCharsMax && nameShape.test(text);
export const isTeamName = (text: string): boolean => text.length <= teamNameCharsMax && nameShape.test(text);
const nameShape = /^[A-Za-z0-9_][A-Za-z0-9._-]*$/;

export function parseReceiver(text: string): Receiver {
  if (text === "*") return { kind: "all" };
  if (isAgentName(text)) return { kind: "name", name: text };
  return parseAddress(text) ?? { kind: "unreadable" };
}

/** Undefined if it is no address, or one that depends on the sender. */
export function parseAddress(text: string): AgentAddress | undefined {
  if (text.startsWith(sessionPrefix)) {
    const session = text.slice(sessionPrefix.length);
    return isTeamName(session) ? { kind: "session", session } : undefined;
  }
  if (text.startsWith(socketPrefix)) {
    const path = text.slice(socketPrefix.length);
    return path.startsWith("/") && !path.includes("\0") ? { kind: "socket", path } : undefined;
  }
  const at = text.indexOf("@");
  if (at === -1) return undefined;
  const [name, team] = [text.slice(0, at), text.slice(at + 1)];
  return isAgentName(name) && isTeamName(team) ? { kind: "teammate", name, team } : undefined;
}

export function formatAddress(address: AgentAddress): MailboxAddress {
  switch (address.kind) {
    case "teammate":
      return mailboxAddress(`${address.name}@${address.team}`);
    case "session":
      return mailboxAddress(`${sessionPrefix}${address.session}`);
    case "socket":
      return mailboxAddress(`${socketPrefix}${address.path}`);
  }
}

export const teammateAddress = (name: string, team: string): MailboxAddress =>
  formatAddress({ kind: "teammate", name, team });
export const sessionAddress = (session: string): MailboxAddress => formatAddress({ kind: "session", session });

/** The team in which a plain name of this sender is looked up; undefined if it has none. */
export function senderTeam(from: MailboxAddress): string | undefined {
  const address = parseAddress(from);
  switch (address?.kind) {
    case "teammate":
      return address.team;
    case "session":
      return address.session;
    case "socket":
    case undefined:
      return undefined;
  }
}

const sessionPrefix = "bridge:";
const socketPrefix = "uds:";

export const addressShape = z
  .string()
  .refine((text) => parseAddress(text) !== undefined, "not an address")
  .transform(mailboxAddress);
