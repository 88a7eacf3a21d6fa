import { isObject, type Json } from "palimpsest/internal/schema/json";
import { printable } from "palimpsest/internal/schema/printable";
import {
  remoteShape,
  type ServerDefinition,
  serverNameShape,
  serversKey,
  stdioShape,
} from "palimpsest/internal/schema/tool-server";
import { serversPerFileMax } from "palimpsest/internal/settings/limits";
import { type Problem, wrongValue } from "palimpsest/internal/settings/problem";

export interface ParsedServers {
  readonly definitions: readonly ServerDefinition[];
  readonly problems: readonly Problem[];
}

/** `mcpServers` of a file, one by one: a bad one is left out and said, the others count. */
export function parseServers(value: Json, where: string): ParsedServers {
  if (!isObject(value)) {
    const expected = "an object of servers by name";
    const problem = wrongValue({ severity: "error", where, key: serversKey, expected, found: value });
    return { definitions: [], problems: [problem] };
  }
  const problems: Problem[] = [];
  const entries = Object.entries(value);
  if (entries.length > serversPerFileMax) {
    const what = `more than ${serversPerFileMax} servers; the others are ignored`;
    problems.push({ severity: "error", where, key: serversKey, what });
  }
  const definitions = entries.slice(0, serversPerFileMax).flatMap(([name, written]) => {
    const read = definitionOf(name, written);
    if (read.kind === "read") return [read.definition];
    // The value is not shown: headers and variables hold keys.
    problems.push({ severity: "error", where, key: `${serversKey}.${printable(name)}`, what: `${read.why}; ignored` });
    return [];
  });
  return { definitions, problems };
}

type Read =
  | { readonly kind: "read"; readonly definition: ServerDefinition }
  | { readonly kind: "wrong"; readonly why: string };

function definitionOf(name: string, written: Json): Read {
  if (!serverNameShape.safeParse(name).success)
    return { kind: "wrong", why: "a server's name is of letters, digits, - and single _ between them, 64 at most" };
  const stdio = stdioShape.safeParse(written);
  if (stdio.success) {
    const { command, args, env } = stdio.data;
    return { kind: "read", definition: { kind: "stdio", name, command, args, env } };
  }
  const remote = remoteShape.safeParse(written);
  if (!remote.success)
    return {
      kind: "wrong",
      why: 'expected "command" with "args" and "env", or "type" (http or sse) with "url" and "headers"',
    };
  const { type: kind, url, headers } = remote.data;
  return { kind: "read", definition: { kind, name, url, headers } };
}
