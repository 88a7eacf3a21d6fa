import { tryParseJson } from "palimpsest/internal/schema/json";

/** What the model is shown of a report or a message of another agent, for a user: a heading and the agent's own words. */
interface AgentFrame {
  /** `explore has reported: 4 requests, 9 calls`, `Message from leader@docs` */
  readonly heading: string;
  readonly text: string;
}

/** Undefined if the text is no such frame, or one of another form. */
export function parseAgentFrame(text: string): AgentFrame | undefined {
  const frame = /^<(agent_(report|message)(?:_\d+)?)>\n(.*)\n<\/\1>\s*$/s.exec(text.trim());
  if (frame === null) return undefined;
  const [, , kind, body = ""] = frame;
  return kind === "report" ? parseReport(body) : parseMessage(body);
}

const quoted = String.raw`"(?:[^"\\]|\\.)*"`;

function parseReport(body: string): AgentFrame | undefined {
  const first = new RegExp(`^Agent (${quoted}) \\(${quoted}, [^)]*\\) ([a-z ]+)`).exec(body);
  const report = /<(report(?:_\d+)?)>\n(.*)\n<\/\1>/s.exec(body);
  if (first === null || report === null) return undefined;
  const [, name, how = ""] = first;
  const [, cost] = /^Cost: (.*)\.$/m.exec(body) ?? [];
  const end = how.trim() === "has answered" ? "has reported" : how.trim();
  return { heading: `${unquote(name)} ${end}${cost === undefined ? "" : `: ${cost}`}`, text: report[2] ?? "" };
}

function parseMessage(body: string): AgentFrame | undefined {
  const first = new RegExp(`^From (${quoted}), to [a-z ]+: (.*)$`, "m").exec(body);
  if (first === null) return undefined;
  const [, from, says = ""] = first;
  const lines = body.split("\n").filter((line) => line.startsWith("> "));
  const what = says
    .replace(/^a message\./, "")
    .replace(forModel, "")
    .replace(/\.$/, "")
    .trim();
  const heading = `Message from ${unquote(from)}${what === "" ? "" : ` (${what})`}`;
  return { heading, text: lines.map((line) => line.slice(2)).join("\n") };
}

/** What the model is told to do with a message. */
const forModel = / Answer with .*?, or refuse with a reason\.| Claim it before you begin\./;

function unquote(word = ""): string {
  const read = tryParseJson(word);
  return typeof read === "string" ? read : word;
}
