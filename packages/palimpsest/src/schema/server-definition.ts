import { z } from "zod";

/** A program or an address that offers tools by the Model Context Protocol, as settings define it. */
export type ServerDefinition = StdioServer | RemoteServer;

export interface StdioServer {
  readonly kind: "stdio";
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** With this and a few names that every program needs, and nothing else of ours. */
  readonly env: Readonly<Record<string, string>>;
}

export interface RemoteServer {
  readonly kind: "http" | "sse";
  readonly name: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * In `mcp__server__tool` the server ends where the first two underscores stand: a name that holds two, or ends in one,
 * would let a rule for one server be a leave for another.
 */
export const serverNameShape = z
  .string()
  .max(64)
  .regex(/^[a-z0-9-]+(?:_[a-z0-9-]+)*$/i);

const texts = z.record(z.string(), z.string());

/** As the ecosystem writes it, under its name. */
export const stdioShape = z.object({
  type: z.literal("stdio").optional(),
  command: z.string().min(1),
  args: z.array(z.string()).default([]),
  env: texts.default({}),
});

export const remoteShape = z.object({
  type: z.enum(["http", "sse"]),
  /** May begin with a variable, which only the start knows. */
  url: z.string().regex(/^(https?:\/\/|\$\{)/i),
  headers: texts.default({}),
});

/** `${NAME}`, and `${NAME:-otherwise}`: what the environment has is put in when it starts. */
export const variablePattern = /\$\{(\w+)(?::-([^}]*))?\}/g;

/**
 * What a person approves: everything by which another program would run or another address be asked, and the project, as
 * `./server.js` is another program in another folder. The same text for the same definition, whatever the order of keys.
 */
export function approvalText(definition: ServerDefinition, root: string): string {
  const { kind, name } = definition;
  const parts =
    definition.kind === "stdio"
      ? [definition.command, definition.args, sortPairs(definition.env)]
      : [definition.url, sortPairs(definition.headers)];
  return JSON.stringify([root, kind, name, ...parts]);
}

const sortPairs = (record: Readonly<Record<string, string>>): readonly (readonly [string, string])[] =>
  Object.entries(record).toSorted(([one], [other]) => (one < other ? -1 : 1));

/** A definition as it may be shown and logged: arguments, variables, headers and what stands in an address may be keys. */
export const serverListingShape = z.strictObject({
  id: z.string(),
  kind: z.enum(["stdio", "http", "sse"]),
  /** The program, or the address without what follows its path. */
  target: z.string(),
});
export type ServerListing = z.infer<typeof serverListingShape>;

export const toServerListing = (definition: ServerDefinition): ServerListing => ({
  id: definition.name,
  kind: definition.kind,
  target: definition.kind === "stdio" ? definition.command : publicAddress(definition.url),
});

/** Also of what begins with a variable, and so is no address yet. */
const publicAddress = (url: string): string => url.replace(/[?#].*$/s, "").replace(/\/\/[^/@]*@/, "//");

/** A definition with the variables of the environment put in: never written down, never shown. */
export interface ServerLaunch {
  readonly definition: ServerDefinition;
  /** All that its process is to see. */
  readonly env: Readonly<Record<string, string>>;
}

/** Of settings files: the servers by name, and in a person's own file the definitions that they approved of. */
export const serversKey = "mcpServers";
export const approvedKey = "approvedMcpServers";
export const refusedKey = "refusedMcpServers";
