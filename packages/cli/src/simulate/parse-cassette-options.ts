import { exitCode, failure, type Failure, usageError } from "../program/failure.ts";

type Speed = "real" | "instant";

export type Cassettes =
  | { readonly kind: "record"; readonly folder: string; readonly upstream: string }
  | { readonly kind: "play"; readonly folder: string; readonly speed: Speed };

interface CassetteFlags {
  readonly record: string | undefined;
  readonly upstream: string | undefined;
  readonly cassette: string | undefined;
  readonly "cassette-speed": string | undefined;
}

type Value = string | boolean | readonly string[] | undefined;

/**
 * Undefined if cassettes are not asked for. `ofSimulator`: options that mean nothing if the simulator itself does not
 * answer.
 */
export function parseCassetteOptions(
  flags: CassetteFlags,
  ofSimulator: Readonly<Record<string, Value>>,
): Cassettes | Failure | undefined {
  const { record, upstream, cassette, "cassette-speed": speed } = flags;
  const mode = record === undefined ? "--cassette" : "--record";
  if (record === undefined && upstream !== undefined)
    return usageError("--upstream says where --record passes requests on to", "Give --record <folder> too.");
  if (cassette === undefined && speed !== undefined)
    return usageError("--cassette-speed says how fast --cassette answers", "Give --cassette <folder> too.");
  if (record === undefined && cassette === undefined) return undefined;
  const others = Object.entries({ ...(record === undefined ? {} : { cassette }), ...ofSimulator })
    .filter(([, value]) => isGiven(value))
    .map(([name]) => name);
  if (others.length > 0)
    return usageError(
      `${mode} goes without ${others.map((name) => `--${name}`).join(", ")}`,
      record === undefined ? "A cassette answers as it was recorded." : "The upstream answers, not the simulator.",
    );
  if (record !== undefined) return recordOptions(record, upstream);
  if (speed !== undefined && speed !== "real" && speed !== "instant")
    return usageError(`there is no speed called ${speed}`, "Speeds: real, instant.");
  return { kind: "play", folder: cassette ?? "", speed: speed ?? "instant" };
}

const isGiven = (value: Value): boolean =>
  typeof value === "boolean" ? value : value !== undefined && value.length > 0;

function recordOptions(folder: string, upstream: string | undefined): Cassettes | Failure {
  if (upstream === undefined)
    return usageError(
      "--record needs to know who answers",
      "Give --upstream <base URL>, such as https://api.anthropic.com.",
    );
  const url = URL.parse(upstream);
  if (url === null || !/^https?:$/.test(url.protocol))
    return usageError(`${upstream} is no base URL`, "Such as https://api.anthropic.com.");
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "")
    return usageError(
      "a base URL holds no password, query or fragment",
      "Clients send their own key; it is passed on.",
    );
  return { kind: "record", folder, upstream };
}

export const portInUse = (port: number): Failure =>
  failure({
    code: exitCode.busy,
    message: `port ${port} is in use`,
    hint: "Choose another with --port, or --port 0 for any that is free.",
  });
