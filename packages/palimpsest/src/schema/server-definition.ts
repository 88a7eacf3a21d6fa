import { z } from "zod";

/** A program or URL that offers tools over the Model Context Protocol, as settings define it. */
export type ServerDefinition = StdioServer | RemoteServer;

export interface StdioServer {
  readonly kind: "stdio";
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** The process gets these variables and a few that every program needs, and none of our others. */
  readonly env: Readonly<Record<string, string>>;
}

export interface RemoteServer {
  readonly kind: "http" | "sse";
  readonly name: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * In `mcp__server__tool` the server's name ends at the first double underscore: if a name contained two underscores in
 * a row, or ended in one, a rule for one server could permit tools of another.
 */
export const serverNameShape = z
  .string()
  .max(64)
  .regex(/^[a-z0-9-]+(?:_[a-z0-9-]+)*$/i);

const texts = z.record(z.string(), z.string());

/** The ecosystem's format, in which the server's name is the key. */
export const stdioShape = z.object({
  type: z.literal("stdio").optional(),
  command: z.string().min(1),
  args: z.array(z.string()).default([]),
  env: texts.default({}),
});

export const remoteShape = z.object({
  type: z.enum(["http", "sse"]),
  /** May begin with a variable, which is resolved when the server starts. */
  url: z.string().regex(/^(https?:\/\/|\$\{)/i),
  headers: texts.default({}),
});

/** `${NAME}` and `${NAME:-default}`: replaced from the environment when the server starts. */
export const variablePattern = /\$\{(\w+)(?::-([^}]*))?\}/g;

/**
 * What the user approves: everything that decides which program runs or which URL is called, and the project, because
 * `./server.js` is another program in another folder. The order of keys does not matter.
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
  Object.entries(record).toSorted(([left], [right]) => (left < right ? -1 : 1));

/**
 * A definition as it may be shown and logged. It leaves out arguments, variables, headers and parts of the URL, which
 * may contain keys.
 */
export const serverListingShape = z.strictObject({
  id: z.string(),
  kind: z.enum(["stdio", "http", "sse"]),
  /** The program, or the URL up to the end of its path. */
  target: z.string(),
});
export type ServerListing = z.infer<typeof serverListingShape>;

export const toServerListing = (definition: ServerDefinition): ServerListing => ({
  id: definition.name,
  kind: definition.kind,
  target: definition.kind === "stdio" ? definition.command : stripSecrets(definition.url),
});

/** Works on text, because a URL that begins with a variable can't be parsed yet. */
const stripSecrets = (url: string): string => url.replace(/[?#].*$/s, "").replace(/\/\/[^/@]*@/, "//");

/** A definition with its variables resolved: never stored, never shown. */
export interface ServerLaunch {
  readonly definition: ServerDefinition;
  /** The complete environment of its process. */
  readonly env: Readonly<Record<string, string>>;
}

/** Keys in settings files: the servers by name, and in the user's own file the definitions that the user approved or refused. */
export const serversKey = "mcpServers";
export const approvedKey = "approvedMcpServers";
export const refusedKey = "refusedMcpServers";
