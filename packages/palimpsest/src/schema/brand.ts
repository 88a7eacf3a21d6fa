/** Nominal types: an id or a quantity can't be passed in place of another kind. Brands exist only at compile time. */
type Brand<Base, Name extends string> = Base & { readonly __brand: Name };

/** `uuid` of a transcript entry. */
export type EntryId = Brand<string, "EntryId">;
/** The provider's id of a reply; entries that share it are one reply. */
export type MessageId = Brand<string, "MessageId">;
/** Id of a tool call; its result names the same id. */
export type ToolUseId = Brand<string, "ToolUseId">;
/** Lower-case hex SHA-256 of a blob's bytes. */
export type BlobId = Brand<string, "BlobId">;
export type SessionId = Brand<string, "SessionId">;
/** Lower-case hex SHA-256 of a memory's text. */
export type MemoryHash = Brand<string, "MemoryHash">;
/** `r17`: the seventeenth revision of a memory directory. */
export type MemoryRevisionId = Brand<string, "MemoryRevisionId">;
/** Id of a message between agents. A sender that tries again uses the same id. */
export type EnvelopeId = Brand<string, "EnvelopeId">;
/** `name@team`, `bridge:<session>` or `uds:<path>`; only `agent-address.ts` makes it. */
export type MailboxAddress = Brand<string, "MailboxAddress">;
/** `agent-3f9c21ab`: an agent of a session, and the name of its transcript. */
export type AgentId = Brand<string, "AgentId">;
/** Id of a task in a team's task list. */
export type TaskId = Brand<string, "TaskId">;

export type Tokens = Brand<number, "Tokens">;
export type Bytes = Brand<number, "Bytes">;
export type Millis = Brand<number, "Millis">;
/** Whole billionths of a dollar. */
export type NanoUsd = Brand<number, "NanoUsd">;

export const entryId = (text: string): EntryId => text as EntryId;
export const messageId = (text: string): MessageId => text as MessageId;
export const toolUseId = (text: string): ToolUseId => text as ToolUseId;
export const sessionId = (text: string): SessionId => text as SessionId;
export const memoryHash = (text: string): MemoryHash => text as MemoryHash;
export const memoryRevisionId = (text: string): MemoryRevisionId => text as MemoryRevisionId;
export const envelopeId = (text: string): EnvelopeId => text as EnvelopeId;
export const mailboxAddress = (text: string): MailboxAddress => text as MailboxAddress;
export const agentId = (text: string): AgentId => text as AgentId;
export const newAgentId = (uuid: string): AgentId => agentId(`agent-${uuid.replaceAll("-", "").slice(0, 8)}`);
export const taskId = (text: string): TaskId => text as TaskId;
export const tokens = (count: number): Tokens => count as Tokens;
export const asTokens = (count: number | undefined): Tokens | undefined =>
  count === undefined ? undefined : tokens(count);
export const bytes = (count: number): Bytes => count as Bytes;
export const millis = (count: number): Millis => count as Millis;
export const nanoUsd = (count: number): NanoUsd => count as NanoUsd;

const blobIdShape = /^[0-9a-f]{64}$/;
export const isBlobId = (text: string): text is BlobId => blobIdShape.test(text);

export function blobId(text: string): BlobId {
  if (!isBlobId(text)) throw new TypeError(`not a blob id: ${text.slice(0, 80)}`);
  return text;
}

/** A version 8 UUID, whose bits are free to choose: the same hash always yields the same id. */
export const uuidFromHash = (hex: string): string =>
  `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
