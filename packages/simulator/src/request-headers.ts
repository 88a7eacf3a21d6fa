import { millis, type Millis } from "palimpsest/internal/schema/brand";
import { type Fault, parseFault } from "./fault/fault.ts";
import { clockJumpMillisMax } from "./limits.ts";
import { invalid, type Refusal, refusal } from "./refusal.ts";
import { createHash } from "node:crypto";
import { isKnownBeta } from "palimpsest/internal/schema/wire/is-known-beta";

/** Headers by which a client controls the simulator. They are not part of the API and never reach a prompt. */
const controlHeaders = {
  /** Milliseconds by which the clock advances before the request counts as started. */
  advance: "x-simulator-advance-ms",
  /** A fault for this request, for example `rate-limit retry-after=3`. */
  fault: "x-simulator-fault",
} as const;

/** Headers that every answer carries. */
export const reportHeaders = {
  cost: "x-simulator-cost-usd",
  number: "x-simulator-request",
  now: "x-simulator-now",
} as const;

interface RequestControl {
  readonly kind: "control";
  readonly advanceMillis: Millis;
  readonly fault: Fault | undefined;
}

/** Anything with the `get` method of `Headers`. */
export interface HeaderSource {
  get(name: string): string | null;
}

export function readControl(headers: HeaderSource): RequestControl | Refusal {
  const advance = headers.get(controlHeaders.advance);
  const advanceMillis = advance === null ? 0 : Number(advance);
  if (!/^\d+$/.test(advance ?? "0") || advanceMillis > clockJumpMillisMax)
    return invalid(
      `milliseconds to go forward, a whole number from 0 to ${clockJumpMillisMax}`,
      controlHeaders.advance,
    );
  const faultText = headers.get(controlHeaders.fault);
  if (faultText === null) return { kind: "control", advanceMillis: millis(advanceMillis), fault: undefined };
  const parsed = parseFault(faultText);
  return parsed.kind === "wrong"
    ? invalid(parsed.message, controlHeaders.fault)
    : { kind: "control", advanceMillis: millis(advanceMillis), fault: parsed.fault };
}

interface RequestHeaders {
  readonly kind: "headers";
  /** Owner of the prompt cache: requests of other workspaces never read from it. */
  readonly workspace: string;
  readonly betas: ReadonlySet<string>;
  readonly version: string;
}

const versions: ReadonlySet<string> = new Set(["2026-10-21", "2023-06-01", "2023-01-01"]);

/** `offered`: betas that only this server has. */
export function readHeaders(headers: HeaderSource, offered: readonly string[] = []): RequestHeaders | Refusal {
  const key = findApiKey(headers);
  if (key === undefined) return refusal("authentication_error", "x-api-key header is required");
  const version = headerValue(headers, "anthropic-version");
  if (version === undefined) return invalid("header is required", "anthropic-version");
  if (!versions.has(version)) return invalid(`"${version}" is not a valid version`, "anthropic-version");
  const betas = parseBetas(headers);
  const unknown = betas.filter((name) => !isKnownBeta(name) && !offered.includes(name));
  if (unknown.length > 0) return unknownBetas(unknown);
  const workspace = headerValue(headers, "anthropic-workspace-id") ?? workspaceOfKey(key);
  return { kind: "headers", workspace, betas: new Set(betas), version };
}

function findApiKey(headers: HeaderSource): string | undefined {
  const bearer = /^bearer\s+(\S+)$/i.exec(headerValue(headers, "authorization") ?? "");
  return headerValue(headers, "x-api-key") ?? bearer?.[1];
}

const parseBetas = (headers: HeaderSource): readonly string[] =>
  (headerValue(headers, "anthropic-beta") ?? "")
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");

function unknownBetas(names: readonly string[]): Refusal {
  const shown = names.map((name) => `\`${name}\``).join(", ");
  return invalid(
    `Unexpected value(s) ${shown} for the \`anthropic-beta\` header. Please consult our documentation at docs.anthropic.com or try again without the header.`,
  );
}

/** Keeps the key itself out of traces and errors. */
const workspaceOfKey = (key: string): string => `wrkspc_${createHash("sha256").update(key).digest("hex").slice(0, 16)}`;

function headerValue(headers: HeaderSource, name: string): string | undefined {
  const value = headers.get(name)?.trim();
  return value === "" ? undefined : value;
}
