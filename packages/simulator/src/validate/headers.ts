import { createHash } from "node:crypto";
import { isKnownBeta } from "palimpsest/internal/schema/wire/beta";
import type { HeaderSource } from "../control.ts";
import { invalid, refusal, type Refusal } from "../refusal.ts";

export interface RequestHeaders {
  readonly kind: "headers";
  /** What the prompt cache belongs to: requests of other workspaces never read from it. */
  readonly workspace: string;
  readonly betas: ReadonlySet<string>;
  readonly version: string;
}

const versions: ReadonlySet<string> = new Set(["2026-10-21", "2023-06-01", "2023-01-01"]);

/** `offered`: betas of this server alone. */
export function readHeaders(headers: HeaderSource, offered: readonly string[] = []): RequestHeaders | Refusal {
  const key = keyOf(headers);
  if (key === undefined) return refusal("authentication_error", "x-api-key header is required");
  const version = sent(headers, "anthropic-version");
  if (version === undefined) return invalid("header is required", "anthropic-version");
  if (!versions.has(version)) return invalid(`"${version}" is not a valid version`, "anthropic-version");
  const betas = betasOf(headers);
  const unknown = betas.filter((name) => !isKnownBeta(name) && !offered.includes(name));
  if (unknown.length > 0) return unknownBetas(unknown);
  const workspace = sent(headers, "anthropic-workspace-id") ?? workspaceOfKey(key);
  return { kind: "headers", workspace, betas: new Set(betas), version };
}

function keyOf(headers: HeaderSource): string | undefined {
  const bearer = /^bearer\s+(\S+)$/i.exec(sent(headers, "authorization") ?? "");
  return sent(headers, "x-api-key") ?? bearer?.[1];
}

const betasOf = (headers: HeaderSource): readonly string[] =>
  (sent(headers, "anthropic-beta") ?? "")
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");

function unknownBetas(names: readonly string[]): Refusal {
  const shown = names.map((name) => `\`${name}\``).join(", ");
  return invalid(
    `Unexpected value(s) ${shown} for the \`anthropic-beta\` header. Please consult our documentation at docs.anthropic.com or try again without the header.`,
  );
}

/** The key itself stays out of traces and errors. */
const workspaceOfKey = (key: string): string => `wrkspc_${createHash("sha256").update(key).digest("hex").slice(0, 16)}`;

function sent(headers: HeaderSource, name: string): string | undefined {
  const value = headers.get(name)?.trim();
  return value === "" ? undefined : value;
}
