import type { Entry } from "palimpsest/internal/schema/entry";
import { field, isArray, isObject, text } from "palimpsest/internal/schema/json";

/** What clients write in a person's name begins with a tag of theirs, or a line in brackets. */
const clientsOwn = /^\s*(?:<\/?[a-z]+(?:-[a-z]+)+>|\[Request interrupted)/;

/** What a person said in this entry, trimmed: as a message, beside results, or while the agent was at work. */
export function personText(entry: Entry): string | undefined {
  if (entry.sidechain) return undefined;
  const said = saidIn(entry)
    .filter((one) => !clientsOwn.test(one))
    .join("\n")
    .trim();
  return said === "" ? undefined : said;
}

function saidIn(entry: Entry): readonly string[] {
  switch (entry.kind) {
    case "user":
      if (entry.meta || entry.summary) return [];
      return entry.blocks.flatMap((block) => (block.type === "text" ? [block.text] : []));
    case "attachment": {
      const { attachment } = entry;
      const isPrompt = (text(attachment, "commandMode") ?? "prompt") === "prompt";
      if (text(attachment, "type") !== "queued_command" || !isPrompt) return [];
      const prompt = field(attachment, "prompt");
      if (typeof prompt === "string") return [prompt];
      return isArray(prompt) ? prompt.flatMap((part) => (isObject(part) ? (text(part, "text") ?? []) : [])) : [];
    }
    case "assistant":
    case "edit":
    case "other":
      return [];
  }
}
